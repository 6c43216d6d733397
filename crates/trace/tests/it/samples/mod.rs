//! A tiny hand-made trace of every format, with the requests that it holds.

#![allow(dead_code, reason = "another crate's tests take a part of it")]

use std::io::Cursor;

use phelsuma_trace::{Format, InputReport, Op, OpenOptions, Request, TraceError, reader_from};

pub(crate) struct Sample {
    pub format: Format,
    pub bytes: Vec<u8>,
    pub requests: Vec<Request>,
}

pub(crate) fn request(time_ns: u64, device: u32, op: Op, offset_bytes: u64, size_bytes: u64) -> Request {
    Request { time_ns, device, op, offset_bytes, size_bytes, handle: 0 }
}

/// The requests, their times since the earliest.
pub(crate) fn read_as(bytes: &[u8], format: Option<Format>) -> Result<Vec<Request>, TraceError> {
    let options = OpenOptions { format, ..OpenOptions::default() };
    Ok(since_earliest(reader_from(Cursor::new(bytes.to_vec()), "t", &options)?.collect::<Result<_, _>>()?))
}

pub(crate) fn since_earliest(mut requests: Vec<Request>) -> Vec<Request> {
    let earliest = requests.iter().map(|request| request.time_ns).min().unwrap_or(0);
    requests.iter_mut().for_each(|request| request.time_ns -= earliest);
    requests
}

/// Expects a warning with these words.
#[track_caller]
pub(crate) fn says(report: &InputReport, what: &str) {
    assert!(report.warnings.iter().any(|warning| warning.contains(what)), "{:#?}", report.warnings);
}

/// Expects none with them.
#[track_caller]
pub(crate) fn says_not(report: &InputReport, what: &str) {
    assert!(!report.warnings.iter().any(|warning| warning.contains(what)), "{:#?}", report.warnings);
}

/// The one line that reading these bytes ends with.
pub(crate) fn error_of(bytes: &[u8], format: Option<Format>) -> String {
    let error = read_as(bytes, format).expect_err("an error was expected").to_string();
    assert!(!error.contains('\n'), "an error must be one line: {error}");
    error
}

fn text(format: Format, text: &str, requests: &[Request]) -> Sample {
    Sample { format, bytes: text.as_bytes().to_vec(), requests: requests.to_vec() }
}

/// Numbers of so many bytes each, one behind the other.
fn fields(big_endian: bool, fields: &[(u64, usize)], payload: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    for &(value, width) in fields {
        let all = value.to_le_bytes();
        let field = &all[..width];
        if big_endian { record.extend(field.iter().rev()) } else { record.extend(field) }
    }
    record.extend(payload);
    record
}

pub(crate) fn blktrace_record(
    big_endian: bool,
    action: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    payload: &[u8],
) -> Vec<u8> {
    let (action, bytes) = ((u64::from(action), 4), (u64::from(bytes), 4));
    let front = [(0x6561_7407, 4), (1, 4), (time_ns, 8), (sector, 8), bytes, action];
    let back = [(77, 4), (8 << 20 | 16, 4), (0, 4), (0, 2), (payload.len() as u64, 2)];
    fields(big_endian, &[&front[..], &back].concat(), payload)
}

pub(crate) fn blktrace2_record(
    big_endian: bool,
    action: u64,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    payload: &[u8],
) -> Vec<u8> {
    let front = [(0x6561_7408, 4), (1, 4), (time_ns, 8), (sector, 8), (u64::from(bytes), 4), (77, 4), (action, 8)];
    let back = [(8 << 20 | 16, 4), (0, 4), (0, 2), (payload.len() as u64, 2), (0, 8), (0, 4)];
    fields(big_endian, &[&front[..], &back].concat(), payload)
}

pub(crate) fn vscsi1_record(command: u16, sector: u64, bytes: u32, time_us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(9u32.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(1u32.to_le_bytes());
    record.extend(command.to_le_bytes());
    record.extend(0x0100u16.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(time_us.to_le_bytes());
    record
}

pub(crate) fn vscsi2_record(command: u16, sector: u64, bytes: u32, time_us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(command.to_le_bytes());
    record.extend(0x0200u16.to_le_bytes());
    record.extend(9u32.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(1u32.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(time_us.to_le_bytes());
    record.extend(5u64.to_le_bytes());
    record
}

pub(crate) fn hp_record(sec: i32, usec: i32, bytes: i32, sector: i32, device: i32, flags: i32) -> Vec<u8> {
    let fields = [56, 0x0004_0001, sec, usec, 1, 2, bytes, sector, device, 0, 0, flags, 0, 0];
    fields.iter().flat_map(|field: &i32| field.to_be_bytes()).collect()
}

pub(crate) fn oracle_record(time_s: u32, object: u64, bytes: u32, next: i64) -> Vec<u8> {
    let mut record = time_s.to_le_bytes().to_vec();
    record.extend(object.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(next.to_le_bytes());
    record
}

fn binary(format: Format, records: &[Vec<u8>], requests: &[Request]) -> Sample {
    Sample { format, bytes: records.concat(), requests: requests.to_vec() }
}

/// At least one sample for every format; together they hold every op that the format has.
pub(crate) fn all() -> Vec<Sample> {
    use Op::{Flush, Read, Trim, Write};
    const QUEUED: u32 = 1 | 1 << 20;
    const ISSUED: u32 = 7 | 1 << 22;
    let blktrace = |big_endian| {
        let record = |action, time, sector, bytes, payload: &[u8]| {
            blktrace_record(big_endian, action, time, sector, bytes, payload)
        };
        binary(
            Format::Blktrace,
            &[
                record(2 << 16 | QUEUED, 1000, 2048, 4096, &[]),
                record(2 << 16 | ISSUED, 2000, 2048, 4096, &[]),
                record(1 << 16 | ISSUED, 3500, 4096, 8192, b"payload"),
                record(1 << 29 | 2 << 16 | ISSUED, 4000, 8192, 65536, &[]),
                record(6 << 16 | ISSUED, 5000, 0, 0, &[]),
                record(1 << 25 | 1 << 16 | ISSUED, 6000, 0, 36, b"\x12\0\0\0\x24\0"),
                record(1 << 26, 6500, 0, 0, b"java"),
            ],
            &[
                request(0, 8 << 20 | 16, Write, 2048 * 512, 4096),
                request(1500, 8 << 20 | 16, Read, 4096 * 512, 8192),
                request(2000, 8 << 20 | 16, Trim, 8192 * 512, 65536),
                request(3000, 8 << 20 | 16, Flush, 0, 0),
            ],
        )
    };
    let blktrace2 = |big_endian| {
        let record = |action, time, sector, bytes, payload: &[u8]| {
            blktrace2_record(big_endian, action, time, sector, bytes, payload)
        };
        let issued = u64::from(ISSUED);
        binary(
            Format::Blktrace,
            &[
                record(2 << 16 | issued, 2000, 2048, 4096, b"payload"),
                record(1 << 33 | 2 << 16 | issued, 3000, 4096, 65536, &[]),
                record(1 << 34 | 2 << 16 | issued, 3100, 0, 0, &[]),
                record(1 << 35 | 2 << 16 | issued, 3200, 4096, 0, &[]),
                record(1 << 32 | 2 << 16 | issued | 1 << 8, 4000, 4096, 4096, b"12345678"),
                record(6 << 16 | issued, 5000, 0, 0, &[]),
            ],
            &[
                request(0, 8 << 20 | 16, Write, 2048 * 512, 4096),
                request(1000, 8 << 20 | 16, Trim, 4096 * 512, 65536),
                request(2000, 8 << 20 | 16, Write, 4096 * 512, 4096),
                request(3000, 8 << 20 | 16, Flush, 0, 0),
            ],
        )
    };
    let mut hp_header = b"$$TR_IOREC-1.3 (hand made)\nversion = 1.3;\n\x0c".to_vec();
    hp_header.extend(hp_record(100, 5, 8192, 1000, 0x0105, 1));
    vec![
        text(
            Format::Columns,
            "id;Time (ms);type;LBA;size_bytes;disk\n1;5;W;8;4096;a\n2;6.5;\"read\";16;512;b\n3;7;discard;0;8192;a\n4;8;flush;;;a\n",
            &[
                request(0, 0, Write, 8 * 512, 4096),
                request(1_500_000, 1, Read, 16 * 512, 512),
                request(2_000_000, 0, Trim, 0, 8192),
                request(3_000_000, 0, Flush, 0, 0),
            ],
        ),
        text(
            Format::Csv,
            "# made by hand\ntime_us,device,op,offset_bytes,size_bytes\n10,0,write,4096,8192\n10.5,1,read,512,512\n# and\n12.25,0,trim,0,4096\r\n13,0,flush,0,0\n",
            &[
                request(0, 0, Write, 4096, 8192),
                request(500, 1, Read, 512, 512),
                request(2250, 0, Trim, 0, 4096),
                request(3000, 0, Flush, 0, 0),
            ],
        ),
        text(
            Format::DiskSim,
            "7961.833 0 20228336 8 0\n8346.206 1 16 3 1\n8346.2060005 0 8 0 1\n",
            &[request(0, 0, Write, 20228336 * 512, 4096), request(384_373_000, 1, Read, 8192, 1536)],
        ),
        text(
            Format::DiskSim,
            "100 0 303567 7 0\n26214000 22 303574 6 1\n",
            &[request(0, 0, Write, 303567 * 512, 3584), request(26_213_900, 22, Read, 303574 * 512, 3072)],
        ),
        text(
            Format::FlashSim,
            "640.875000\t0\t522424\t16\t1\n640.876\t0\t522552\t1\t0\n",
            &[request(0, 0, Read, 522424 * 512, 65536), request(1000, 0, Write, 522552 * 512, 4096)],
        ),
        text(
            Format::Replayer,
            "0.000 0 200626176 4096 0\n223.412 0 3159347200 36864 1\n",
            &[request(0, 0, Write, 200626176, 4096), request(223_412_000, 0, Read, 3159347200, 36864)],
        ),
        text(
            Format::Msr,
            "128166372003061629,hm,0,Write,7014912,4096,26\n128166372003061729,hm,1,Read,0,512,26\n128166372003061730,usr,0,Read,0,512,1\n",
            &[
                request(0, 0, Write, 7014912, 4096),
                request(10_000, 1, Read, 0, 512),
                request(10_100, 1 << 16, Read, 0, 512),
            ],
        ),
        text(
            Format::Spc,
            "0,20941264,8192,W,0.551706\n3,16,512,r,0.551707,x\n",
            &[request(0, 0, Write, 20941264 * 512, 8192), request(1000, 3, Read, 8192, 512)],
        ),
        text(
            Format::DiskMon,
            "0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8\n1\t0.016376\t0.1\t2\tRead\t8\t1\t\r\n",
            &[request(0, 0, Write, 3271215 * 512, 4096), request(1000, 2, Read, 4096, 512)],
        ),
        text(
            Format::Blkparse,
            "  8,16   0        4     0.000017985  5314  I   R 1611592 + 256 [java]\n\
             \x20 8,16   0        5     0.000024673  5314  D   R 1611592 + 256 [java]\n\
             \x20 8,16   0        6     0.000024674  5314  U   N [java] 1\n\
             \x20 8,16   0        7     0.001092325  5314  C   R 1611592 + 256 [0]\n\
             \x20 8,16   1        8     0.000024672  5314  D WFSM 24 + 8 [java]\n\
             \x20 8,16   1        9     0.000024680  5314  D   D 4096 + 1024 [java]\n\
             \x20 8,16   1       10     0.000024690  5314  D  FN [java]\n\
             \x20 8,16   1       11     0.000024691  5314  D   R 36 (12 00 00 00 24 00 ..) [java]\n\
             CPU0 (8,16):\n Reads Queued:           0,        0KiB\n\nEvents (8,16): 17181 entries\n",
            &[
                request(1, 8 << 20 | 16, Read, 1611592 * 512, 256 * 512),
                request(0, 8 << 20 | 16, Write, 24 * 512, 4096),
                request(8, 8 << 20 | 16, Trim, 4096 * 512, 1024 * 512),
                request(18, 8 << 20 | 16, Flush, 0, 0),
            ],
        ),
        text(
            Format::Blkparse,
            "8,0 0 1 0.5 9 Q W 8 + 8 [x]\n8,0 0 2 0.6 9 C W 8 + 8 [0]\n",
            &[request(0, 8 << 20, Write, 4096, 4096)],
        ),
        text(
            Format::Blkparse,
            "1,0 15 1 0.5 100 C WS 8 + 1 [0]\n1,0 15 2 0.6 100 C R 16 + 2 [0]\n",
            &[request(0, 1 << 20, Write, 4096, 512), request(100_000_000, 1 << 20, Read, 8192, 1024)],
        ),
        blktrace(false),
        blktrace(true),
        blktrace2(false),
        blktrace2(true),
        binary(
            Format::VscsiV1,
            &[
                vscsi1_record(0x2a, 63, 4096, 1000),
                vscsi1_record(0x28, 71, 512, 1001),
                vscsi1_record(0x12, 0, 36, 1001),
                vscsi1_record(0x35, 0, 0, 1002),
            ],
            &[
                request(0, 0, Write, 63 * 512, 4096),
                request(1000, 0, Read, 71 * 512, 512),
                request(2000, 0, Flush, 0, 0),
            ],
        ),
        binary(
            Format::VscsiV2,
            &[vscsi2_record(0x8a, 63, 4096, 1000), vscsi2_record(0x88, 71, 512, 1001)],
            &[request(0, 0, Write, 63 * 512, 4096), request(1000, 0, Read, 71 * 512, 512)],
        ),
        text(
            Format::VscsiCsv,
            "version,time,op,size,lbn\n1,5633898,2a,512,42932745\n1,5633999,28,6656,40409911\n1,5634000,12,36,0\n1,5634001,35,0,0\n",
            &[
                request(0, 0, Write, 42932745 * 512, 512),
                request(101_000, 0, Read, 40409911 * 512, 6656),
                request(103_000, 0, Flush, 0, 0),
            ],
        ),
        text(
            Format::Ftrace,
            "# tracer: nop\n#\n\
             CPU:1 [LOST 12 EVENTS]\n\
             \x20    kworker/0:1H-100     [000] .....  1000.000000: block_rq_issue: 8,16 W 4096 () 1000 + 8 [kworker/0:1H]\n\
             \x20    kworker/0:1H-100     [000] .....  1000.001000: block_rq_complete: 8,16 W () 1000 + 8 [0]\n\
             \x20    my app: x-200        [001] .....  1000.002000: block_rq_issue: 8,16 R 8192 () 2000 + 16 be,0,4 [my app: x]\n\
             \x20             app-200      [001] .....  1000.002500: block_rq_issue: 8,16 R 36 (12 00 00 00 24 00) 0 + 0 [app]\n\
             \x20             app-200      [001] .....  1000.003000: block_rq_issue: 8,16 FF 0 () 18446744073709551615 + 0 [app]\n\
             \x20             app-200      [001] .....  1000.004000: block_rq_issue: 8,16 D 1048576 () 4096 + 2048 none,0,0 |7| [app]\n",
            &[
                request(0, 8 << 20 | 16, Write, 1000 * 512, 4096),
                request(2_000_000, 8 << 20 | 16, Read, 2000 * 512, 8192),
                request(3_000_000, 8 << 20 | 16, Flush, 0, 0),
                request(4_000_000, 8 << 20 | 16, Trim, 4096 * 512, 1 << 20),
            ],
        ),
        text(
            Format::Ftrace,
            "app-200   [010] ..... 91444.019570: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=11, cmdid=57664, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=918149376, len=7, ctrl=0x0, dsmgmt=7, reftag=0)\n\
             app-200   [010] ..... 91444.019571: nvme_setup_cmd: nvme1: qid=11, cmdid=5, nsid=2, flags=0x0, meta=0x0, cmd=(nvme_cmd_flush nsid=2)\n\
             app-200   [010] ..... 91444.019572: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=11, cmdid=5, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=8, len=0, ctrl=0x0, dsmgmt=0, reftag=0)\n",
            &[
                request(0, 0, Write, 918149376 * 512, 4096),
                request(1000, 1, Flush, 0, 0),
                request(2000, 0, Read, 4096, 512),
            ],
        ),
        text(
            Format::Spdk,
            "TSC Rate: 2300000000\n\
             \x20 0: 141193.578 b00 BDEV_IO_START                         id:    i429      type:  2                ctx:   0x7ffb7d48b110   offset:12048            len:   2\n\
             \x20 0: 143030.609 b00 BDEV_IO_DONE                          id:    i429      time:  1837.035         ctx:   0x7ffb7d48b110\n\
             \x2011: 143031.578 (    123456) b01 BDEV_IO_START    size:      8 id:    i430      type:  1                ctx:   0x7ffb7d48b110   offset:64  qd: 1\n\
             \x20 0: 143032.578 b00 BDEV_IO_START    id:    i431      type:  4   ctx: 0x1   offset:0    len:   0\n\
             \x20 0: 143033.578 b00 BDEV_IO_START    id:    i432      type:  3   ctx: 0x1   offset:8    len:   16\n",
            &[
                request(0, 0, Write, 12048 * 512, 1024),
                request(1_838_000, 1, Read, 64 * 512, 4096),
                request(1_839_000, 0, Flush, 0, 0),
                request(1_840_000, 0, Trim, 4096, 8192),
            ],
        ),
        text(
            Format::BioSnoop,
            "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)\n\
             0.000004    supervise      1950   xvda1   W 13092560   4096       0.74\n\
             0.000178    Web Content    1950   xvdb    R 8          512        0.61\n",
            &[request(0, 0, Write, 13092560 * 512, 4096), request(174_000, 1, Read, 4096, 512)],
        ),
        text(
            Format::Etw,
            "BeginHeader\n\
             \x20               DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,     FileObject, FileName\n\
             \x20           DiskReadInit,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr\n\
             EndHeader\n\
             OS Version: 6.0.6001, Trace Start: 128390000000000000\n\
             \x20           DiskReadInit,    2664700,             p1 ( 980),       6852, 0xfffffade6b0a2010\n\
             \x20              DiskWrite,    2664955,             p1 ( 980),       6852, 0xfffffade6b0a2010, 0x6c80556e00, 0x00010000,        183,        3, 0x000043,         183,       0,  Unknown, 0xfffffade72165e40, \"Disk5:\\a, b\"\n\
             \x20               DiskRead,    2664960,             p1 ( 980),       6852, 0xfffffade6b0a2010, 0x1000, 0x200,        183,        4, 0x000043,         183,       0,  Unknown, 0xfffffade72165e40, x\n\
             \x20              DiskFlush,    2664970,             p1 ( 980),       6852, 0xfffffade6b0a2010,   183,        3, 0x000043,         183,       0\n",
            &[
                request(0, 3, Write, 0x6c_8055_6e00, 65536),
                request(5_000, 4, Read, 4096, 512),
                request(15_000, 3, Flush, 0, 0),
            ],
        ),
        text(
            Format::Midas,
            "0.146559796 1 0 4096 \n0.146609386 2 1 4096\n0.146637836 0 5 8182 \n0.146643556 3 6 8192 \n",
            &[
                request(0, 0, Write, 0, 4096),
                request(78_040, 0, Read, 5 * 4096, 8182),
                request(83_760, 0, Trim, 6 * 4096, 8192),
            ],
        ),
        binary(
            Format::OracleGeneral,
            &[oracle_record(5, 7, 4096, 2), oracle_record(5, 8, 512, -1), oracle_record(6, 7, 4096, i64::MAX)],
            &[
                request(0, 0, Read, 7 * 4096, 4096),
                request(0, 0, Read, 8 * 4096, 512),
                request(1_000_000_000, 0, Read, 7 * 4096, 4096),
            ],
        ),
        text(
            Format::FioV2,
            "fio version 2 iolog\n/dev/a add\n/dev/b add\n/dev/a open\n/dev/b write 0 16384\n/dev/a wait 150 0\n/dev/a read 4096 512\n/dev/a wait 200\n/dev/a datasync\n/dev/a trim 4096 4096\n/dev/a close\n",
            &[
                request(0, 1, Write, 0, 16384),
                request(150_000, 0, Read, 4096, 512),
                request(350_000, 0, Flush, 0, 0),
                request(350_000, 0, Trim, 4096, 4096),
            ],
        ),
        text(
            Format::FioV3,
            "fio version 3 iolog\n18 nvme1n1 add\n177 nvme1n1 open\n878 nvme1n1 write 0 16384\n879 nvme1n1 sync 0 0\n880 nvme1n1 trim 0 4096\n881 nvme1n1 read 0 4096\n",
            &[
                request(0, 0, Write, 0, 16384),
                request(1000, 0, Flush, 0, 0),
                request(2000, 0, Trim, 0, 4096),
                request(3000, 0, Read, 0, 4096),
            ],
        ),
        text(
            Format::BioTracer,
            "4043968\t\t8\t\t4096\t\t5\t\t1398396860.171915740\t\t1398396860.172014854\t\t1398396860.172024750\t\t1398396860.172760844\n\
             96\t\t1\t\t512\t\t0\t\t1398396860.171915739\t\t1\t\t1\t\t1\n\
             96\t\t1\t\t512\t\t1\t\t1398396860.171915741\t\t1\t\t1\t\t1\n",
            &[
                request(1, 0, Write, 4043968 * 512, 4096),
                request(0, 0, Read, 96 * 512, 512),
                request(2, 0, Write, 96 * 512, 512),
            ],
        ),
        binary(
            Format::HpSrt,
            &[hp_header, hp_record(101, 4, 1024, 8, 0x0005, 0x100)],
            &[request(0, 1, Read, 256_000, 8192), request(999_999_000, 0, Write, 2048, 1024)],
        ),
        text(
            Format::Fiu,
            "./PaxHeaders.1/cheetah\0\0\0\u{30}000644\0\n28 ctime=1410563671.7\n\0\0\0\0\n89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173\n89966527950684 4253 nfsd 8 8 R 6 1 88b93b628d84082186026d9da044f173\n\0\0\0\0",
            &[request(0, 6 << 20, Write, 508516672 * 512, 4096), request(100, 6 << 20 | 1, Read, 4096, 4096)],
        ),
        text(
            Format::WiscSee,
            "1386 D discard 136314880 4096 0.439237477 4.43e-06 False\n0 C discard 136314880 4096 0.439237478 1e-09 False\n1386 D write 0 512 0.439237577 4.43e-06 True\n",
            &[request(0, 0, Trim, 136314880, 4096), request(100, 0, Write, 0, 512)],
        ),
        text(
            Format::Alibaba,
            "0,R,126703644672,4096,1577808000000626\n7,W,0,512,1577808000000627\n",
            &[request(0, 0, Read, 126703644672, 4096), request(1000, 7, Write, 0, 512)],
        ),
        text(
            Format::Tencent,
            "1538323200,6338688,8,1,1627\n1538323201,0,1,0,1628\n",
            &[request(0, 1627, Write, 6338688 * 512, 4096), request(1_000_000_000, 1628, Read, 0, 512)],
        ),
        text(
            Format::Systor,
            "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.000806000,R,0,899056122368,131072\n1456095145.2,,,1,0,512\n1456095146.133076000,,W,1,0,512\n",
            &[request(0, 0, Read, 899056122368, 131072), request(1_000_000_000, 1, Write, 0, 512)],
        ),
    ]
}

/// What is read of a file that holds this text: its requests, and what is said of it. Or the error.
pub(crate) fn read_with(text: &str, options: &OpenOptions) -> Result<(Vec<Request>, InputReport), String> {
    let mut trace = reader_from(Cursor::new(text.to_owned()), "t", options).map_err(|error| error.to_string())?;
    let requests: Result<Vec<Request>, _> = trace.by_ref().collect();
    Ok((requests.map_err(|error| error.to_string())?, trace.report()))
}

pub(crate) fn error(text: &str) -> String {
    read_with(text, &OpenOptions::default()).unwrap_err()
}

pub(crate) fn read(text: &str) -> (Vec<Request>, InputReport) {
    read_with(text, &OpenOptions::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}
