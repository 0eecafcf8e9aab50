// Listeners by the name of an event, called in the order in which they were added.
class Emitter {
  #listeners = {};

  /** Adds a listener. The same one may be added several times, and is then called as often. */
  on(name, listener) {
    (this.#listeners[name] ??= []).push(listener);
    return this;
  }

  /** Adds a listener that is called once at most. off() removes it, too. */
  once(name, listener) {
    return this.on(name, (...values) => {
      listener(...values);
      this.off(name, listener);
    });
  }

  /** Removes a listener: the one that was added last, if there are several of it. */
  off(name, listener) {
    const listeners = this.#listeners[name] ?? [];
    listeners.splice(listeners.indexOf(listener), 1);
    return this;
  }

  /**
   * Calls the listeners that there are at this moment; says whether there are any. One that throws does not keep the
   * others from being called; the first error is thrown in the end.
   */
  emit(name, ...values) {
    const listeners = this.#listeners[name] ?? [];
    listeners.forEach((listener) => listener(...values));
    return listeners.length > 0;
  }
}
