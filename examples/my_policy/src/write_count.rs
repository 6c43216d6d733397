//! Pages sorted by how often the host wrote them lately: those that it wrote often to one stream, the others to another,
//! and what collection moves to a third. Counts are halved each time the drive was written over.

use phelsuma_ftl::Counter;
use phelsuma_ftl::policy::{self, Asks, HostWrite, MovedPage, Param, Placement, PlacementSpec, Table, View, state};

/// The version of the contract that this was written for.
const _: () = assert!(policy::VERSION == 1);

const HOT: Param = Param::number("write-count.hot", 1, 255, 2, "writes from which on a page is hot").always_shown();

/// What it says of itself, how many streams it has, and how it is made for a drive.
pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "write-count",
    "hot by how often pages were written",
    |_| 3,
    |context| {
        let writes = Table::new("placement.write_counts", context.logical_pages as usize, 0);
        Box::new(WriteCount {
            writes,
            until_halved: context.logical_pages,
            hot: context.number(&HOT) as u8,
            hot_pages: 0,
        })
    },
)
.params(&[HOT])
.asks(|_| Asks::NOTHING.pages());

state! {
    /// What it keeps in RAM. The ledger counts each field.
    struct WriteCount {
        /// By logical page.
        writes: Table<u8>,
        until_halved: u32,
        hot: u8,
        hot_pages: u64,
    }
}

impl Placement for WriteCount {
    fn host(&mut self, _view: &View<'_>, write: &HostWrite) -> u8 {
        let writes = &mut self.writes[write.page.index()];
        *writes = writes.saturating_add(1);
        let is_hot = *writes >= self.hot;
        self.until_halved -= 1;
        if self.until_halved == 0 {
            self.writes.iter_mut().for_each(|writes| *writes /= 2);
            self.until_halved = self.writes.len() as u32;
        }
        self.hot_pages += u64::from(is_hot);
        u8::from(!is_hot)
    }

    fn moved(&mut self, _view: &View<'_>, _page: &MovedPage) -> u8 {
        2
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("write_count_hot_pages", self.hot_pages));
    }
}
