//! Writes of one page each: the plain workloads, made to cost as little as possible.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::address::Address;
use crate::TraceError;
use crate::request::{Op, PageRequest, Source};

pub(super) struct Writes<A> {
    address: A,
    random: Xoshiro256PlusPlus,
}

impl<A: Address> Writes<A> {
    pub(super) fn new(address: A, seed: u64) -> Self {
        Writes { address, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }
}

impl<A: Address> Source for Writes<A> {
    #[inline]
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        let first = self.address.draw(1, &mut self.random);
        Ok(Some(PageRequest {
            at_ns: 0,
            op: Op::Write,
            first,
            pages: 1,
            partial_first: false,
            partial_last: false,
            handle: 0,
        }))
    }
}
