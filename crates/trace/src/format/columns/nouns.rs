//! The nouns in headings, by what a column of that name is.

/// Times of something else than the request's begin.
pub(super) const LATER: &[&str] = &[
    "response",
    "responsetime",
    "latency",
    "lat",
    "elapsed",
    "duration",
    "completion",
    "complete",
    "completed",
    "finish",
    "finished",
    "end",
    "ended",
    "done",
    "wait",
    "service",
    "svc",
    "delay",
    "delta",
    "interval",
    "gap",
    "think",
    "thinktime",
    "iat",
    "inter",
    "interarrival",
];
/// Of these, times from the request before.
pub(super) const BETWEEN: &[&str] = &["delta", "interval", "gap", "think", "thinktime", "iat", "inter", "interarrival"];
pub(super) const TIMES: &[&str] = &["time", "timestamp", "ts", "t"];
/// Times where no other column is one.
pub(super) const LIKELY_TIMES: &[&str] = &[
    "datetime",
    "when",
    "at",
    "clock",
    "begin",
    "began",
    "starts",
    "created",
    "captured",
    "logged",
    "recorded",
    "occurred",
    "moment",
    "instant",
    "epoch",
    "wall",
    "wallclock",
];
pub(super) const OPS: &[&str] = &[
    "op",
    "ops",
    "opcode",
    "operation",
    "optype",
    "type",
    "iotype",
    "rw",
    "rwbs",
    "action",
    "command",
    "cmd",
    "direction",
    "dir",
];
pub(super) const SIZES: &[&str] = &["size", "length", "len", "count", "nbytes", "nsectors", "nblocks", "npages", "nlb"];
pub(super) const ADDRESSES: &[&str] = &["offset", "off", "address", "addr", "start", "lba", "lbn", "lsn", "slba"];
/// Plurals that are sizes where nothing else is named.
pub(super) const SIZES_BY_UNIT: &[&str] = &["sectors", "blocks", "pages", "bytes", "kb", "kib"];
pub(super) const ADDRESSES_BY_UNIT: &[&str] = &["sector", "block", "page"];
/// What is before a unit that it counts, as in `num_lba`, `nr_sector` and `number of blocks`.
pub(super) const COUNTERS: &[&str] = &["num", "nr", "no", "n", "nof", "number", "count"];
pub(super) const DEVICES: &[&str] = &[
    "device",
    "deviceid",
    "devicename",
    "dev",
    "devid",
    "devno",
    "devnum",
    "blockdevice",
    "blkdev",
    "blockdev",
    "bdev",
    "vbd",
    "disk",
    "disknumber",
    "disknum",
    "diskno",
    "diskid",
    "diskname",
    "drive",
    "driveid",
    "lun",
    "lunid",
    "ldev",
    "volume",
    "volumeid",
    "volumename",
    "vol",
    "volid",
    "zvol",
    "asu",
    "partition",
];
/// Words of which the last in a name says what it is of, as in `block_device`.
pub(super) const OF_DEVICES: &[&str] = &["device", "dev", "disk", "drive", "volume", "partition"];
/// Devices, or what has devices of its own.
pub(super) const LIKELY_DEVICES: &[&str] = &[
    "nsid",
    "namespace",
    "namespaceid",
    "devname",
    "fd",
    "part",
    "vm",
    "vmid",
    "vmname",
    "vmdk",
    "vdisk",
    "vdev",
    "target",
    "ssd",
    "hdd",
    "host",
    "hostname",
    "server",
    "major",
    "minor",
];
/// What holds devices that have names of their own in it, so that equal ones are of different devices.
pub(super) const HOLDERS: &[&str] = &[
    "host",
    "hostid",
    "server",
    "serverid",
    "node",
    "nodeid",
    "machine",
    "machineid",
    "rack",
    "rackid",
    "cluster",
    "clusterid",
    "array",
    "arrayid",
    "controller",
    "controllerid",
    "ctrl",
    "ctrlr",
    "instance",
    "instanceid",
    "hypervisor",
    "chassis",
    "enclosure",
    "datacenter",
    "bus",
];
/// What has devices of its own, or shares them.
pub(super) const SHARERS: &[&str] = &[
    "tenant",
    "tenantid",
    "customer",
    "customerid",
    "client",
    "clientid",
    "account",
    "project",
    "pool",
    "poolid",
    "group",
    "channel",
    "initiator",
    "subsystem",
    "nqn",
];
/// When a request begins, where a unit of times follows.
pub(super) const BEGINS: &[&str] = &[
    "start",
    "started",
    "begin",
    "begun",
    "issue",
    "issued",
    "submit",
    "submitted",
    "arrival",
    "arrived",
    "queued",
    "enqueued",
    "dispatch",
    "dispatched",
    "recv",
    "received",
];
/// Words beside the unit of a part of a second.
pub(super) const PARTS: &[&str] =
    &["part", "parts", "frac", "fract", "fraction", "sub", "since", "of", "in", "the", "tv", "s", "sec", "second"];
/// Words behind a name that change nothing.
pub(super) const NEUTRAL: &[&str] = &[
    "id", "no", "nr", "num", "number", "stamp", "start", "begin", "issue", "submit", "arrival", "in", "of", "since",
    "utc", "unix", "epoch", "req", "request", "io", "i", "o", "the", "value", "unit", "units", "logical", "rel",
    "relative", "abs", "absolute",
];
