/* Runs before the first paint, so that a chosen theme does not flash. The key is state/theme.ts's own. */
(function () {
    try {
        var theme = localStorage.getItem("deft.theme");
        if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    } catch (_) {
        /* Storage is closed to us: the system's theme serves. */
    }
})();
