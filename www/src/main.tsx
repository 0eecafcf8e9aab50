import { createRoot } from "react-dom/client";
import { App } from "./App";
import { CrashGuard } from "./parts/CrashGuard";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/controls.css";
import "./styles/timeline.css";
import "./styles/cards.css";
import "./styles/prose.css";
import "./styles/settings.css";

const root = document.getElementById("root");
if (root !== null)
    createRoot(root).render(
        <CrashGuard>
            <App />
        </CrashGuard>,
    );
