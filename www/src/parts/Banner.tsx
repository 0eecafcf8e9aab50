import type { ReactNode } from "react";

interface BannerProps {
    tone: "calm" | "danger";
    children: ReactNode;
    action?: ReactNode;
}

export function Banner({ tone, children, action }: BannerProps) {
    return (
        <div className={`banner banner-${tone}`} role={tone === "danger" ? "alert" : "status"}>
            <div className="banner-body">{children}</div>
            {action}
        </div>
    );
}
