//! NAND flash: geometry, addresses, spare areas, the Nand trait, and a simulated chip with time and faults.
