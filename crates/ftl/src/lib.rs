//! Flash translation layers over any Nand.
