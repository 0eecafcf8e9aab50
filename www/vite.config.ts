import { defineConfig } from "vite";

/* `npm run dev` serves the page itself and passes everything else on to a running deft. */
const backend = process.env.DEFT_APP_URL ?? "http://localhost:3000";

export default defineConfig({
    build: {
        target: "es2021",
        /* An inlined asset would need a data: source in the content security policy. */
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
    },
    server: {
        port: 5173,
        proxy: {
            "/api": { target: backend, changeOrigin: false },
            "/agent": { target: backend, changeOrigin: false, ws: true },
        },
    },
});
