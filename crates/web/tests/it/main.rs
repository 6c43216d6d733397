//! Drives as a page drives them, and the page itself in a browser.

#![allow(clippy::unwrap_used)]

mod browser;
mod drives;
mod same;

use phelsuma_web::{Opened, call};
use serde_json::{Value, json};

/// What a page has: a drive that answers.
#[derive(Default)]
struct Page(Opened);

impl Page {
    fn open(settings: Value) -> Self {
        let mut page = Self::default();
        page.ask(&json!({ "do": "open", "settings": settings, "filled": true, "fit": true }));
        page
    }

    /// The answer, and its bytes.
    fn answer(&mut self, question: &Value) -> (Value, Vec<u8>) {
        self.answer_with(question, &[])
    }

    fn answer_with(&mut self, question: &Value, bytes: &[u8]) -> (Value, Vec<u8>) {
        let answer = call(&mut self.0, &question.to_string(), bytes);
        (serde_json::from_str(&answer.line).unwrap(), answer.bytes)
    }

    /// The answer, which is no error.
    fn ask(&mut self, question: &Value) -> Value {
        let (answer, _) = self.answer(question);
        assert_eq!(answer["error"], Value::Null, "{question}");
        answer
    }

    /// Reads a trace, and opens a drive whose host it is; what was told of it.
    fn drop_trace(&mut self, name: &str, text: &[u8], mut settings: Value) -> Value {
        let (told, _) = self.answer_with(&json!({ "do": "trace", "name": name }), text);
        settings["workload"] = json!(format!("trace:{name}"));
        self.ask(&json!({ "do": "open", "settings": settings, "filled": true, "fit": true }));
        told
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

/// A trace that writes a drive of [`small`] over: `time_us,device,op,offset_bytes,size_bytes`.
fn trace() -> String {
    let mut text = String::from("time_us,device,op,offset_bytes,size_bytes\n");
    let mut state = 1u64;
    for n in 0..4_000u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (device, op) = (n % 2, ["write", "write", "write", "read", "trim"][(state >> 60) as usize % 5]);
        // Some wrap, and are then two requests of the drive's.
        let (offset, size) = ((state >> 33) % 100_000 * 512, (state >> 20) % 6 * 512 + 512);
        text += &format!("{n},{device},{op},{offset},{size}\n");
        if n % 500 == 499 {
            text += &format!("{n},{device},flush,0,0\n");
        }
    }
    text
}
