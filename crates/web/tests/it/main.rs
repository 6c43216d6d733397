//! Drives as a page drives them, and the page itself in a browser.

#![allow(clippy::unwrap_used)]

mod browser;
mod drives;
mod same;

use phelsuma_web::{Engine, call};
use serde_json::{Value, json};

/// What a page has: a drive that answers.
#[derive(Default)]
struct Page(Option<Engine>);

impl Page {
    fn open(settings: Value) -> Self {
        let mut page = Self::default();
        page.ask(&json!({ "do": "open", "settings": settings, "filled": true, "fit": true }));
        page
    }

    /// The answer, and its bytes.
    fn answer(&mut self, question: &Value) -> (Value, Vec<u8>) {
        let answer = call(&mut self.0, &question.to_string());
        (serde_json::from_str(&answer.line).unwrap(), answer.bytes)
    }

    /// The answer, which is no error.
    fn ask(&mut self, question: &Value) -> Value {
        let (answer, _) = self.answer(question);
        assert_eq!(answer["error"], Value::Null, "{question}");
        answer
    }

    fn run(&mut self, steps: u64) -> Value {
        let state = self.ask(&json!({ "do": "run", "steps": steps }))["state"].clone();
        assert_eq!(state["wrong"], Value::Null);
        state
    }

    fn act(&mut self, act: &str) -> Value {
        self.ask(&json!({ "do": "act", "act": act }))["state"].clone()
    }

    fn digest(&mut self) -> Value {
        self.ask(&json!({ "do": "digest" }))
    }
}

/// The presets' names.
fn presets() -> Vec<String> {
    let listed = Page::default().ask(&json!({ "do": "list" }));
    listed["presets"].as_array().unwrap().iter().map(|preset| preset["name"].as_str().unwrap().to_string()).collect()
}

/// A drive that is soon written over, with two channels where each has an FTL of its own.
fn small(ftl: &str) -> Value {
    let channels = if ftl.starts_with("ftl-mm") { 2 } else { 1 };
    json!({
        "ftl": ftl, "blocks": 96, "pages_per_block": 16, "ratio": 0.6, "cache": 64, "channels": channels,
        "workload": "zipf:0.9",
    })
}
