import type { Tagged } from "../../api/wire";
import { type ToolItem, textOf } from "../../model/items";
import { text } from "../../text";
import { Card, OutcomeWords, badgeOf, hasWords } from "./Card";

interface Task {
    title: string;
    notes: string;
    status: "todo" | "in_progress" | "done";
}

function taskOf(value: unknown): Task {
    const entry = (typeof value === "object" && value !== null ? value : {}) as Partial<Record<keyof Task, unknown>>;
    const status = entry.status === "done" || entry.status === "in_progress" ? entry.status : "todo";
    return {
        title: typeof entry.title === "string" ? entry.title : "",
        notes: typeof entry.notes === "string" ? entry.notes : "",
        status,
    };
}

function tasksOf(item: ToolItem): Task[] {
    const source: Tagged | null = item.outcome.state === "done" ? item.outcome.observation : item.action;
    const list = source?.task_list;
    return Array.isArray(list) ? list.map(taskOf) : [];
}

export function TaskCard({ item }: { item: ToolItem }) {
    const tasks = tasksOf(item);
    const nDone = tasks.filter((task) => task.status === "done").length;
    const isView = textOf(item.action, "command") === "view";
    return (
        <Card
            item={item}
            icon="list"
            title={
                <>
                    {text.tasks.planned} <span className="card-aside">{text.tasks.progress(nDone, tasks.length)}</span>
                </>
            }
            badge={badgeOf(item.outcome)}
            isClosedAtFirst={isView}
        >
            {tasks.length === 0 && <p className="card-words">{text.tasks.empty}</p>}
            {tasks.length > 0 && (
                <ul className="tasks">
                    {tasks.map((task, i) => (
                        <li key={i} className={`task-row task-${task.status}`}>
                            <span className="task-mark" aria-hidden="true" />
                            <span>
                                {task.title}
                                <span className="visually-hidden"> ({text.tasks.states[task.status]})</span>
                                {task.notes !== "" && <span className="task-notes">{task.notes}</span>}
                            </span>
                        </li>
                    ))}
                </ul>
            )}
            {hasWords(item.outcome) && <OutcomeWords outcome={item.outcome} />}
        </Card>
    );
}
