/* A value that parts of the page watch. Values are replaced, never changed in place. */
import { useSyncExternalStore } from "react";

export class Store<T> {
    private readonly listeners = new Set<() => void>();

    constructor(private value: T) {}

    readonly get = (): T => this.value;

    readonly subscribe = (listener: () => void): (() => void) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    };

    set(value: T): void {
        if (Object.is(value, this.value)) return;
        this.value = value;
        this.listeners.forEach((listener) => { listener(); });
    }

    patch(part: Partial<T>): void {
        this.set({ ...this.value, ...part });
    }
}

export function useStore<T>(store: Store<T>): T {
    return useSyncExternalStore(store.subscribe, store.get);
}
