// The engine in a worker: a module of WebAssembly that answers lines of JSON. Where no worker can be had it runs here.
"use strict";

// Thrown where something goes on with a drive or a lesson that was left: nothing is wrong.
const LEFT = Symbol("left");

// What the worker is made of; it stands in the page as text, since a page on disk may load no other file.
function engineMain(scope, post) {
  let exports = null, stopped = false;
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  const ask = (question, bytes = new Uint8Array()) => {
    const text = encoder.encode(`${JSON.stringify(question)}\n`);
    const room = exports.phelsuma_room(text.length + bytes.length);
    new Uint8Array(exports.memory.buffer, room, text.length).set(text);
    new Uint8Array(exports.memory.buffer, room + text.length, bytes.length).set(bytes);
    exports.phelsuma_call();
    const view = (at, length) => new Uint8Array(exports.memory.buffer, at, length);
    const line = decoder.decode(view(exports.phelsuma_line(), exports.phelsuma_line_bytes()));
    return { line: JSON.parse(line), bytes: view(exports.phelsuma_bytes(), exports.phelsuma_bytes_count()).slice() };
  };
  // Steps for so many milliseconds at the most: few at first, then as many as fit.
  let chunk = 16;
  const run = ({ steps, ms }) => {
    const begin = performance.now();
    let done = 0, answer;
    for (;;) {
      const now = performance.now(), asked = Math.min(steps - done, chunk);
      answer = ask({ do: "run", steps: asked });
      const took = performance.now() - now;
      if (answer.line.error) { return answer; }
      done += answer.line.done;
      if (took < ms / 8 && asked === chunk) { chunk = Math.min(chunk * 2, 1 << 20); }
      if (took > ms / 2) { chunk = Math.max(1, chunk >> 1); }
      if (answer.line.done < asked || done >= steps || performance.now() - begin >= ms) { break; }
    }
    const took = performance.now() - begin, look = ask({ do: "look" });
    return { line: { ...look.line, done, took }, bytes: look.bytes };
  };
  return async ({ id, module, question, bytes: sent }) => {
    try {
      if (module) {
        exports = (await WebAssembly.instantiate(module, {})).instance.exports;
        post({ id, line: {}, bytes: new Uint8Array() });
        return;
      }
      if (stopped) { throw new Error("the engine stopped: load the page again"); }
      const { line, bytes } = question.do === "fast" ? run(question) : ask(question, sent);
      post({ id, line, bytes });
    } catch (error) {
      // A trap leaves the module in no state to be used again.
      let said = String(error.message ?? error);
      if (error instanceof WebAssembly.RuntimeError) {
        stopped = true;
        said = `The engine stopped: ${decoder.decode(new Uint8Array(exports.memory.buffer, exports.phelsuma_panic(), exports.phelsuma_panic_bytes())) || said}`;
      }
      post({ id, line: { error: said }, bytes: new Uint8Array() });
    }
  };
}

class Engine {
  constructor() {
    this.waiting = new Map();
    this.next = 0;
    const take = message => {
      const { id, line, bytes } = message;
      if (!this.waiting.has(id)) { return; }
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      line.error ? reject(new Error(line.error)) : resolve({ ...line, bytes });
    };
    try {
      const source = `"use strict"; const answer = (${engineMain})(self, m => self.postMessage(m, [m.bytes.buffer])); self.onmessage = e => answer(e.data);`;
      this.url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      this.worker = new Worker(this.url);
      this.worker.onmessage = event => take(event.data);
      this.send = message => this.worker.postMessage(message);
    } catch {
      const answer = engineMain(null, message => setTimeout(() => take(message)));
      this.send = message => setTimeout(() => answer(message));
    }
    this.inWorker = this.worker !== undefined;
  }

  post(message) {
    if (this.isClosed) { return Promise.reject(LEFT); }
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, ...message });
    });
  }

  // Answers come in the order of the questions.
  ask(question, bytes) { return this.post({ question, bytes }); }

  static async made() {
    const engine = new Engine();
    await engine.post({ module: await Engine.module() });
    return engine;
  }

  // The module's bytes; they are in the page, packed.
  static async module() {
    if (!Engine.bytes) {
      const packed = Uint8Array.from(atob(document.getElementById("module").textContent.trim()), c => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      Engine.bytes = await new Response(stream).arrayBuffer();
    }
    return Engine.bytes;
  }

  // No answer comes any more, and what waits for one is told.
  close() {
    this.isClosed = true;
    this.worker?.terminate();
    if (this.url) { URL.revokeObjectURL(this.url); }
    this.waiting.forEach(({ reject }) => reject(LEFT));
    this.waiting.clear();
  }
}
