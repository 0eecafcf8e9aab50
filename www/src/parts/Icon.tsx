/* All icons are strokes on a 20 × 20 field, in the colour of their text. */
const PATHS = {
    plus: "M10 4v12M4 10h12",
    send: "M10 16V4M4.5 9.5 10 4l5.5 5.5",
    branch: "M6 3v14M6 12c0-4.500 8-1.500 8-6V3M11.500 5.500 14 3l2.5 2.500",
    stop: "M6 6h8v8H6z",
    pause: "M7 5v10M13 5v10",
    play: "M7 4.500v11l8.5-5.500z",
    pencil: "M4 16l.8-3.200L13.2 4.400a1.2 1.2 0 0 1 1.7 0l.7.7a1.2 1.2 0 0 1 0 1.700L7.2 15.200z",
    bin: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.600L14 6",
    back: "M12 4l-6 6 6 6",
    down: "M10 4v12M4.5 10.5 10 16l5.5-5.5",
    chevron: "M7 5l5.5 5L7 15",
    check: "M4.5 10.500l3.5 3.5 7.5-8",
    cross: "M5 5l10 10M15 5L5 15",
    clock: "M10 5v5l3 2M10 2.500a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15z",
    terminal: "M4 5.5 8.5 10 4 14.500M10.5 14.500H16",
    file: "M6 3h5.500L15 6.500V17H6zM11 3v4h4",
    list: "M4 6h1M8 6h8M4 10h1M8 10h8M4 14h1M8 14h8",
    tool: "M12.5 3.500a4 4 0 0 0-4.9 5.200L3.5 12.800v3.700h3.700l4.1-4.100a4 4 0 0 0 5.2-4.900L14 10l-2.5-.5L11 7z",
    thought: "M5 14.500c-3.5-4-.5-10 5-10s8.5 6 5 10c-1.2 1.3-2.5 1.5-5 1.500l-4 1.500z",
    alert: "M10 3.5 17.5 16.500h-15zM10 8.500v4M10 14.600v.1",
    fold: "M4 7h12M4 13h12M10 1.500V5M10 18.500V15",
    sun: "M10 6.500a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM10 2v1.500M10 16.500V18M2 10h1.500M16.5 10H18M4.3 4.300l1.1 1.100M14.6 14.600l1.1 1.100M4.3 15.700l1.1-1.100M14.6 5.400l1.1-1.1",
    moon: "M16 11.800A6.5 6.5 0 1 1 8.2 4a5.2 5.2 0 0 0 7.8 7.800z",
    screen: "M3 4.500h14v9H3zM7.5 16.500h5",
    leave: "M12 4H5v12h7M9 10h8M14 7l3 3-3 3",
    key: "M12.5 3.500a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM9.6 10.400 3.5 16.500M5.5 14.500l2 2",
    copy: "M7 7h9v9H7zM4 13V4h9",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
    return (
        <svg className="icon" viewBox="0 0 20 20" aria-hidden="true">
            <path d={PATHS[name]} />
        </svg>
    );
}
