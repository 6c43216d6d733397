//! What is no plugin, and plugins that break rules.

use crate::built::{page_table, text};
use phelsuma_drive::lab::{Fault, LabConfig, LabError, Points, Sweep, Workload};
use phelsuma_nand::{Geometry, Timing};
use phelsuma_plugin::Plugin;
use std::path::Path;

fn geometry() -> Geometry {
    Geometry::new(512, 16, 48, 1, 1).unwrap()
}

fn why_not(library: &Path, logical_pages: u32) -> String {
    match Plugin::load(library) {
        Ok(plugin) => plugin.on(&geometry(), logical_pages).map(drop).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    }
}

/// A table whose functions do as little as they may, but for what a test sets.
fn plugin(name: &str, functions: &str, set: &str) -> std::path::PathBuf {
    let all = format!(
        r#"#include "phelsuma_plugin.h"
static uint32_t page(const phelsuma_chip *chip) {{ return chip->page_bytes; }}
static uint32_t most(const phelsuma_chip *chip) {{ return chip->blocks; }}
static size_t bytes(const phelsuma_chip *chip, uint32_t pages) {{ (void)chip; return pages; }}
static int32_t make(void *memory, const phelsuma_nand *nand, uint32_t pages)
{{ *(const phelsuma_nand **)memory = nand; (void)pages; return 0; }}
static int32_t none(void *memory, uint32_t page, uint8_t *data) {{ (void)memory; (void)page; (void)data; return 1; }}
static int32_t done(void *memory, uint32_t page, const uint8_t *data) {{ (void)memory; (void)page; (void)data; return 0; }}
static int32_t gone(void *memory, uint32_t first, uint32_t pages) {{ (void)memory; (void)first; (void)pages; return 0; }}
static int32_t sync(void *memory) {{ (void)memory; return 0; }}
{functions}
const phelsuma_plugin *phelsuma_plugin_v1(void)
{{
  static phelsuma_plugin plugin = {{
    .name = "tried", .host_page_bytes = page, .most_logical_pages = most, .memory_bytes = bytes, .format = make,
    .mount = make, .read = none, .write = done, .trim = gone, .sync = sync }};
  {set}
  return &plugin;
}}
"#
    );
    text(name, &all)
}

#[test]
fn what_is_no_plugin_is_refused_and_says_why() {
    let nowhere = Path::new("no/such/file.so");
    assert_eq!(why_not(nowhere, 1), "no/such/file.so: No such file or directory (os error 2)");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("text.so");
    std::fs::write(&file, "no library").unwrap();
    assert!(why_not(&file, 1).contains("file too short"), "{}", why_not(&file, 1));
    let library = text("without", "int nothing;\n");
    assert!(why_not(&library, 1).contains("phelsuma_plugin_v1"), "{}", why_not(&library, 1));
    for (name, set, expected) in [
        ("nameless", "plugin.name = 0;", "its table has no name"),
        ("blank", "plugin.name = \"my ftl\";", "printable characters without commas and blanks"),
        ("no-write", "plugin.write = 0;", "its table has no write"),
        ("no-pages", "plugin.host_page_bytes = 0;", "its table has no host_page_bytes"),
        ("no-table", "return 0;", "returns no table"),
    ] {
        let why = why_not(&plugin(name, "", set), 1);
        assert!(why.contains(expected), "{name}: {why}");
    }
}

#[test]
fn what_does_not_suit_the_chip_says_what_would() {
    let library = page_table("suits", &[]);
    assert_eq!(
        why_not(&library, 700),
        "page-table: 700 logical pages do not fit; the largest ratio that fits is 0.7265"
    );
    let dies = Geometry::new(512, 16, 48, 1, 4).unwrap();
    let why = Plugin::load(&library).unwrap().on(&dies, 100).map(drop).unwrap_err().to_string();
    assert_eq!(why, "page-table: plugins have one die, and there are 4");
    let odd = plugin(
        "odd",
        "static uint32_t odd(const phelsuma_chip *chip) { return chip->page_bytes - 3; }",
        "plugin.host_page_bytes = odd;",
    );
    assert!(why_not(&odd, 1).contains("509 bytes"), "{}", why_not(&odd, 1));
}

/// What the laboratory finds of a plugin although no power was cut.
fn found(library: &Path) -> String {
    found_of(library, 40)
}

/// The same of so many host pages.
fn found_of(library: &Path, logical_pages: u32) -> String {
    let config = LabConfig {
        geometry: geometry(),
        timing: Timing::preset("gecko").unwrap(),
        ftl: Plugin::load(library).unwrap().on(&geometry(), logical_pages).unwrap(),
        workload: Workload::Mixed,
        writes: 10,
        points: Points::Some(3),
        faults: Fault::all(),
        depth: 1,
        seed: 1,
        threads: 1,
    };
    match Sweep::new(&config).run() {
        Ok(report) => report.failures.first().map(|failed| failed.message.clone()).unwrap_or_default(),
        Err(LabError::Workload(error)) => error.to_string(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_breaks_a_rule_is_a_finding() {
    let write = |body: &str| {
        format!(
            "static int32_t write(void *memory, uint32_t page, const uint8_t *data)\n\
             {{ const phelsuma_nand *n = *(const phelsuma_nand **)memory; (void)page; (void)n; (void)data; {body} }}"
        )
    };
    for (name, body, expected) in [
        (
            "twice",
            "n->program(n->context, 0, data, 512, 0); return n->program(n->context, 0, data, 512, 0);",
            "program",
        ),
        (
            "order",
            "n->program(n->context, 5, data, 512, 0); return n->program(n->context, 2, data, 512, 0);",
            "program",
        ),
        ("short", "return n->program(n->context, 0, data, 100, 0);", "100 bytes are programmed"),
        ("beyond", "return n->program(n->context, 768, data, 512, 0);", "page 768 is programmed"),
        ("column", "uint8_t b[64]; return n->read(n->context, 0, 480, b, 64, 0);", "64 bytes from 480"),
        ("nowhere", "return n->read(n->context, 0, 0, 0, 64, 0);", "nowhere to put"),
        ("erases", "return n->erase(n->context, 48);", "block"),
        (
            "endless",
            "for (int r; (r = n->read(n->context, 0, 0, (uint8_t[8]){0}, 8, 0)) >= 0;) {} return 0;",
            "does not end",
        ),
        ("fails", "return PHELSUMA_PLUGIN_FAILED;", "the plugin says that it has failed"),
        ("forgets", "return 0;", "reads as zeros"),
    ] {
        let found = found(&plugin(name, &write(body), "plugin.write = write;"));
        assert!(found.contains(expected), "{name}: {found}");
    }
    let far = "static int32_t far(void *memory, uint32_t page, const uint8_t *data)\n\
               { (void)page; (void)data; ((uint8_t *)memory)[60] = 1; return 0; }";
    let found_far = found(&plugin("far", far, "plugin.write = far;"));
    assert!(found_far.contains("behind its memory"), "{found_far}");
    // What was written last does not stand where a read is to put its data.
    let echo = "static size_t room(const phelsuma_chip *c, uint32_t p) { (void)c; (void)p; return 64; }\n\
                static int32_t echo(void *memory, uint32_t page, uint8_t *data)\n\
                { (void)memory; (void)page; (void)data; return 0; }";
    let found_echo = found_of(&plugin("echo", echo, "plugin.memory_bytes = room; plugin.read = echo;"), 1);
    assert!(found_echo.contains("reads as"), "{found_echo}");
    let huge = "static size_t huge(const phelsuma_chip *c, uint32_t p) { (void)c; (void)p; return (size_t)-1; }";
    let found = found(&plugin("huge", huge, "plugin.memory_bytes = huge;"));
    assert!(found.contains("more than a gigabyte"), "{found}");
}
