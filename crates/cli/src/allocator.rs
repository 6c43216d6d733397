//! The command's allocator.
//!
//! A large drive holds millions of versions of metadata pages, each of another length. The C library's allocator comes
//! to search long lists of free memory for them (a quarter of the time at 2 TiB); jemalloc does not. And it requests
//! huge pages, where the kernel leaves that to programs: the columns of a large drive are read at random.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What jemalloc reads when it begins: a C string, by its address.
#[allow(unsafe_code, reason = "jemalloc finds it by its name, which nothing else has")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static CONFIGURATION: &[u8] = b"thp:always\0";
