// Runs asynchronous tasks, a number of them at once.
class TaskQueue {
  #limit;
  #nRunning = 0;
  #waiting = [];

  constructor(limit) {
    this.#limit = limit;
  }

  /** Runs a task as soon as there is room, in the order of the calls. Settles as the task does. */
  add(task) {
    return new Promise((resolve) => {
      this.#waiting.push({ task, resolve });
      this.#start();
    });
  }

  /** Settles when nothing runs or waits any more; at once, if that is so now. */
  idle() {
    return new Promise((resolve) => {
      const look = () => (this.#nRunning === 0 ? resolve() : setTimeout(look, 50));
      setTimeout(look, 50);
    });
  }

  async #start() {
    if (this.#nRunning > this.#limit || this.#waiting.length === 0) return;
    const { task, resolve } = this.#waiting.pop();
    this.#nRunning++;
    resolve(await task());
    this.#nRunning--;
    this.#start();
  }
}
