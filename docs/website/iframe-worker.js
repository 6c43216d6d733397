// The search runs in a worker, which browsers refuse to pages that are opened from disk. There a frame stands in for it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const address = new URL(url, location);
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      // What the frame's script posts comes to this object, and what it fetches by importScripts is loaded in order.
      inside.document.open();
      inside.document.write("<!doctype html><title>search</title>");
      inside.document.close();
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => load(each)), Promise.resolve());
      this.send = data => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      const load = each => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.onload = done;
        script.onerror = failed;
        script.src = new URL(each, address);
        inside.document.head.appendChild(script);
      });
      load(address).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach(this.send);
      });
    }

    postMessage(data) {
      this.waiting ? this.waiting.push(data) : this.send(data);
    }

    terminate() {}
  };
}
