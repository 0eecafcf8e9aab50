import { Component, type ReactNode } from "react";
import { text } from "../text";
import { Notice } from "./Notice";

/** Last resort: a component that throws while rendering must not leave a blank page. */
export class CrashGuard extends Component<{ children: ReactNode }, { hasCrashed: boolean }> {
    override state = { hasCrashed: false };

    static getDerivedStateFromError() {
        return { hasCrashed: true };
    }

    override render() {
        if (!this.state.hasCrashed) return this.props.children;
        return (
            <Notice title={text.errors.crashTitle} advice={text.errors.crashAdvice}>
                <button type="button" className="button" onClick={() => { window.location.reload(); }}>
                    {text.errors.reload}
                </button>
            </Notice>
        );
    }
}
