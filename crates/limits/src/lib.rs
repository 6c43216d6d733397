//! What write amplification can be: the analytic models.
