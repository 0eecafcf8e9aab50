import type { ComponentType } from "react";
import type { ToolItem } from "../../model/items";
import { FileCard } from "./FileCard";
import { PlainToolCard } from "./PlainToolCard";
import { TaskCard } from "./TaskCard";
import { TerminalCard } from "./TerminalCard";

const CARDS: Readonly<Record<string, ComponentType<{ item: ToolItem }>>> = {
    TerminalAction: TerminalCard,
    TerminalObservation: TerminalCard,
    FileEditorAction: FileCard,
    FileEditorObservation: FileCard,
    PlanningFileEditorAction: FileCard,
    PlanningFileEditorObservation: FileCard,
    TaskTrackerAction: TaskCard,
    TaskTrackerObservation: TaskCard,
};

export function ToolCard({ item }: { item: ToolItem }) {
    const kind = item.action?.kind ?? (item.outcome.state === "done" ? item.outcome.observation.kind : "");
    const Card = CARDS[kind] ?? PlainToolCard;
    return <Card item={item} />;
}
