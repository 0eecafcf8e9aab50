import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

export default ts.config(
    { ignores: ["dist", ".test", "public"] },
    ...ts.configs.strictTypeChecked,
    hooks.configs["recommended-latest"],
    {
        languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: new URL(".", import.meta.url).pathname } },
        rules: {
            complexity: ["error", 12],
            eqeqeq: "error",
            "max-lines": ["error", 300],
            "max-params": ["error", 4],
            "no-console": "error",
            "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
        },
    },
    /* One table of sentences */
    { files: ["src/text.ts"], rules: { "max-lines": "off" } },
    { files: ["eslint.config.js"], ...ts.configs.disableTypeChecked },
    /* node:test returns promises that its runner awaits by itself */
    { files: ["**/*.test.ts", "**/*.test.tsx"], rules: { "@typescript-eslint/no-floating-promises": "off", "max-lines": "off" } },
);
