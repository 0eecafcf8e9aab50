/*
 * The scroll rule of the timeline: it follows its end while the reader is there, and stays where the reader is when
 * anything is added elsewhere.
 */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

const AT_END_PX = 32;

export interface FollowEnd {
    scroller: RefObject<HTMLDivElement | null>;
    isAtEnd: boolean;
    onScroll: () => void;
    toEnd: () => void;
}

/** `first` changes when something is added at the beginning, `last` when something is added at the end. */
export function useFollowEnd(first: unknown, last: unknown, onFollowing: (isFollowing: boolean) => void): FollowEnd {
    const scroller = useRef<HTMLDivElement>(null);
    const isFollowing = useRef(true);
    const lastHeight = useRef(0);
    const [isAtEnd, setIsAtEnd] = useState(true);

    const follow = useCallback(
        (next: boolean) => {
            if (isFollowing.current === next) return;
            isFollowing.current = next;
            setIsAtEnd(next);
            onFollowing(next);
        },
        [onFollowing],
    );

    const onScroll = useCallback(() => {
        const box = scroller.current;
        if (box === null) return;
        follow(box.scrollHeight - box.scrollTop - box.clientHeight <= AT_END_PX);
    }, [follow]);

    const toEnd = useCallback(() => {
        const box = scroller.current;
        if (box === null) return;
        box.scrollTop = box.scrollHeight;
        follow(true);
    }, [follow]);

    /* Older events above push what is being read down by their height. */
    useLayoutEffect(() => {
        const box = scroller.current;
        if (box !== null && !isFollowing.current) box.scrollTop += box.scrollHeight - lastHeight.current;
    }, [first]);

    useLayoutEffect(() => {
        const box = scroller.current;
        if (box === null) return;
        if (isFollowing.current) box.scrollTop = box.scrollHeight;
        lastHeight.current = box.scrollHeight;
    }, [first, last]);

    /* A keyboard that slides in, or a window that is resized, must not hide the end. */
    useEffect(() => {
        const box = scroller.current;
        if (box === null) return undefined;
        const observer = new ResizeObserver(() => {
            if (isFollowing.current) box.scrollTop = box.scrollHeight;
        });
        observer.observe(box);
        return () => { observer.disconnect(); };
    }, []);

    return { scroller, isAtEnd, onScroll, toEnd };
}
