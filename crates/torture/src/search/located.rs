//! Where the bytes of a request are, for a reader: in which file, or on the drive.

use super::explain::count;
use super::names::Names;

/// Where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    /// The file, or what else is there.
    pub(crate) place: Option<String>,
    /// Where in that file.
    pub(crate) file_offset: Option<u64>,
    /// Of the request, the bytes that are there.
    pub(crate) place_range: (u64, u64),
    /// Whose the other bytes are.
    pub(crate) other_places: Vec<String>,
}

impl Located {
    /// Of a request: of these ranges of it, or of all where there are none.
    pub(crate) fn new(names: &Names, offset: u64, length: u64, ranges: &[(u64, u64)]) -> Self {
        let is_meant =
            |begin, end| ranges.is_empty() || ranges.iter().any(|(from, until)| *from < end && begin < *until);
        let mut pieces = names.of(offset, length);
        pieces.retain(|piece| is_meant(piece.range.start, piece.range.end));
        let mut located = Self { place: None, file_offset: None, place_range: (0, length), other_places: Vec::new() };
        let Some(first) = pieces.first() else { return located };
        located.place = Some(first.name.clone());
        located.file_offset = first.file_offset;
        located.place_range = (first.range.start, first.range.end);
        for piece in &pieces {
            if piece.name != first.name && !located.other_places.contains(&piece.name) {
                located.other_places.push(piece.name.clone());
            }
        }
        located
    }

    /// Bytes of the place, and what other places there are.
    pub(crate) fn text(&self, offset: u64) -> String {
        let (begin, end) = self.place_range;
        let more = match self.other_places.len() {
            0 => String::new(),
            1 => " and 1 other".to_string(),
            others => format!(" and {} others", count(others as u64)),
        };
        let name = match (&self.place, self.file_offset) {
            (Some(place), Some(_)) => format!("{place}, bytes"),
            (Some(place), None) => format!("{place}, at bytes"),
            (None, _) => "bytes".to_string(),
        };
        format!("{name} {}{more}", self.range(offset, begin, end))
    }

    /// A range of the request, as bytes of the place.
    pub(crate) fn range(&self, offset: u64, from: u64, until: u64) -> String {
        let begin = self.place_range.0;
        let at = self.file_offset.unwrap_or(offset + begin);
        let first = (at + from).saturating_sub(begin);
        format!("{} to {}", count(first), count((at + until).saturating_sub(begin + 1)))
    }
}
