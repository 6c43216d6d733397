//! The parameters by name.

/// Every parameter: its name, what it can be, what it means.
pub const PARAMETERS: &[(&str, &str, &str)] = &[
    ("mapping", "ram-table | paged", "where each logical page is"),
    ("mapping.cache", "entries; 0 for the default", "mapping entries cached by paged, at 8 bytes each"),
    ("mapping.on-miss", "fetch | lazy", "what a write does whose entry is not cached"),
    ("mapping.directory", "flat | b-tree", "where translation pages are: all in RAM, or the root alone"),
    ("mapping.nodes", "0 to 1000000 (0: an eighth of them, at least 8)", "inner nodes cached by b-tree, a page each"),
    ("mapping.fanout", "0, or 2 and more (0: what a page has room for)", "children of a node of b-tree"),
    ("mapping.dirty-limit", "1 to 100 (100: none)", "percent of the cached entries that may be dirty"),
    (
        "mapping.synchronize",
        "translation-page | physical-block",
        "what is synchronized with a dirty entry that must go",
    ),
    ("integrity", "noflush | page | timeout | req", "when paged writes dirty entries that need not go yet"),
    (
        "integrity.timeout",
        "1 to 4000000000 milliseconds (default 30000)",
        "how old a change of an entry may grow before timeout writes all that are dirty",
    ),
    ("validity", "ram-bitmap | flash-bitmap | page-validity-log | gecko", "which physical pages are live"),
    ("gecko.size-ratio", "2 to 64 (default 2)", "T, the size ratio of neighbouring levels"),
    ("gecko.partitions", "0 to pages per block (0: a 32nd of them)", "S, the parts of a block's bitmap"),
    ("gecko.merge", "multi-way | two-way", "how runs are merged"),
    (
        "victim",
        "greedy | fifo | d-choices | sampled | dual-greedy | cost-benefit | cost-benefit-sealed | cat | midas | \
         static-quota | oracle",
        "which block is collected next",
    ),
    ("victim.d", "1 to 1000 (default 10)", "blocks drawn by d-choices"),
    (
        "victim.sample",
        "0, or 16 to all blocks (0: a 16th of them, at least 16)",
        "blocks whose live pages sampled counts in RAM",
    ),
    ("victim.looks", "1 to 64 (default 4)", "blocks that sampled asks about before each collection"),
    ("cat.wear", "on | off", "whether cat goes by erase counts as well"),
    (
        "placement",
        "one-stream | host-gc | dual-greedy | dac | sepbit | midas | static-quota | oracle",
        "which stream a page is written to",
    ),
    (
        "placement.unknown",
        "class | fetch",
        "what becomes of a page whose old copy a lazy mapping does not know: a class, or its translation page is read",
    ),
    (
        "placement.on-random",
        "keep | greedy",
        "whether victim=dual-greedy is greedy while placement=dual-greedy finds the writes purely random",
    ),
    ("dac.regions", "2 to 8 (default 4)", "regions of dac, from cold to hot"),
    (
        "dac.thresholds",
        "percents with / between them (default 50)",
        "the age in each region of dac below which data are young, of the logical pages written by the host",
    ),
    (
        "dac.page-times",
        "ram | spare",
        "whether dac has a page's age from a table in RAM or from the old copy's spare area",
    ),
    (
        "sepbit.page-times",
        "ram | spare",
        "whether sepbit has a page's last write from a table in RAM or from the old copy's spare area",
    ),
    ("midas.groups", "1 to 8 (default 6)", "groups of midas's chain at the most, without HOT"),
    (
        "midas.epoch",
        "1 to 1000 (default 4)",
        "logical capacities written after which midas chooses its configuration anew",
    ),
    ("quota.classes", "1 to 32 (default 2)", "classes of static-quota, which the workload names: an oracle"),
    ("oracle.windows", "2 to 32 (default 16)", "windows of what pages have left to live"),
    (
        "oracle.reach",
        "1 to 100000 (default 400)",
        "where the last window of oracle begins, in percent of the logical pages written by the host",
    ),
    (
        "oracle.spread",
        "1 to 900 (default 50)",
        "percent by which each window of oracle reaches further than the one before",
    ),
    ("power", "scan | battery | gecko-rec | synchronize | fast | nothing", "how a power cut is survived"),
    ("metadata", "collected | left", "whether blocks of metadata are collected or left until they are stale"),
    ("wear", "none | levelling", "whether blocks are worn evenly"),
    ("wear.threshold", "1 to 10000 (default 12)", "erases that a block of static data may lag behind the average"),
    ("wear.looks", "1 to 32 (default 8)", "free blocks looked at for the least or the most worn"),
    ("log", "block | bast | fast | superblock", "how a log-block FTL uses its log blocks"),
    (
        "log.blocks",
        "0, or 2 and more (0: a 32nd of all blocks, at least 4)",
        "log blocks of bast and fast, update blocks of superblock; of all channels together",
    ),
    (
        "log.instances",
        "one | per-channel",
        "whether one log-block FTL has all channels, or each has its own and pages are dealt to them (FTL-MM)",
    ),
    ("superblock.blocks", "0, or 1 to 64 (0: 4, or what fits a map page)", "logical blocks of a superblock"),
    ("superblock.most", "0, or 2 to 128 (0: twice as many)", "physical blocks of a superblock at the most"),
    ("superblock.maps", "0, or 2 and more (0: as update blocks, at least 8)", "superblocks whose page maps are cached"),
];
