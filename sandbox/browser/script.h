/*
 * Queries to pages, as JavaScript functions that run in our isolated world and return JSON text.
 *
 * The listed elements are kept in that world, so that a number means the same element until the
 * next state or page.
 */
#ifndef DEFT_SANDBOX_BROWSER_SCRIPT_H
#define DEFT_SANDBOX_BROWSER_SCRIPT_H

/* (most) => [{tag, text, placeholder?, href?}] of the usable elements, in document order. */
#define SCRIPT_ELEMENTS                                                                            \
    "most => {\n"                                                                                  \
    "const roles = new Set(('button link checkbox radio menuitem menuitemcheckbox menuitemradio '" \
    " + 'option tab switch textbox combobox searchbox slider spinbutton treeitem').split(' '));\n" \
    "const named = new Set(['BUTTON', 'INPUT', 'SELECT', 'TEXTAREA', 'SUMMARY']);\n"               \
    "const one = text => String(text ?? '').replace(/\\s+/g, ' ').trim();\n"                       \
    "const shown = e => { const box = e.getBoundingClientRect();\n"                                \
    " if (box.width < 1 || box.height < 1) return false;\n"                                        \
    " return e.checkVisibility({ visibilityProperty: true, opacityProperty: false }); };\n"        \
    "const points = e => e instanceof Element && getComputedStyle(e).cursor === 'pointer';\n"      \
    "const usable = e => {\n"                                                                      \
    " if (e.disabled || e.type === 'hidden' && e.tagName === 'INPUT') return false;\n"             \
    " if (named.has(e.tagName) || e.tagName === 'A' && e.hasAttribute('href')) return true;\n"     \
    " if (roles.has(e.getAttribute('role')) || e.isContentEditable &&"                             \
    " !(e.parentElement && e.parentElement.isContentEditable)) return true;\n"                     \
    " if (e.hasAttribute('onclick') || e.tabIndex >= 0 && e.hasAttribute('tabindex'))"             \
    " return true;\n"                                                                              \
    " if (e.tagName === 'LABEL') return Boolean(e.control) && !shown(e.control);\n"                \
    " return points(e) && !points(e.parentElement) && !e.querySelector('a,button,input'); };\n"    \
    "const label = e => { const by = e.getAttribute('aria-labelledby');\n"                         \
    " const other = by && e.getRootNode().getElementById?.(by.split(' ')[0]);\n"                   \
    " return one(e.getAttribute('aria-label') || other?.innerText"                                 \
    " || e.labels?.[0]?.innerText); };\n"                                                          \
    "const value = e => { if (e.type === 'password') return e.value ? '(filled in)' : '';\n"       \
    " if (e.type === 'checkbox' || e.type === 'radio') return e.checked ? '(checked)' : '';\n"     \
    " if (e.tagName === 'SELECT') return [...e.selectedOptions].map(o => o.text).join(', ');\n"    \
    " return e.value; };\n"                                                                        \
    "const text = e => { const plain = one(e.innerText);\n"                                        \
    " if (!('value' in e) || e.tagName === 'BUTTON' || e.tagName === 'LI')\n"                      \
    "  return label(e) || plain || one(e.title || e.querySelector('img[alt]')?.alt);\n"            \
    " const name = label(e) || one(e.title), now = one(value(e));\n"                               \
    " return name && now ? name + ': ' + now : name || now || one(e.name); };\n"                   \
    "const cut = (text, n) => text.slice(0, n).toWellFormed();\n"                                  \
    "const found = [], list = [];\n"                                                               \
    "const look = e => { if (!usable(e) || !shown(e)) return;\n"                                   \
    " const item = { tag: e.tagName.toLowerCase(), text: cut(text(e), 100) };\n"                   \
    " if (e.placeholder) item.placeholder = cut(one(e.placeholder), 100);\n"                       \
    " const href = typeof e.href === 'string' ? e.href : '';\n"                                    \
    " if (href) item.href = cut(href, 500);\n"                                                     \
    " found.push(e); list.push(item); };\n"                                                        \
    "const roots = [document]; let seen = 0;\n"                                                    \
    "for (let root = roots.shift(); root; root = roots.shift())\n"                                 \
    " for (const e of root.querySelectorAll('*')) {\n"                                             \
    "  if (++seen > 100000 || list.length >= most) break;\n"                                       \
    "  if (e.shadowRoot) roots.push(e.shadowRoot);\n"                                              \
    "  if (e instanceof HTMLElement || e.hasAttribute('href')) look(e); }\n"                       \
    "globalThis.deftElements = found;\n"                                                           \
    "return JSON.stringify(list); }"

/* () => {viewport, page, scroll} of the page itself. */
#define SCRIPT_MEASURES                                                                            \
    "() => { const d = document.documentElement;\n"                                                \
    "return JSON.stringify({ viewport: { width: innerWidth, height: innerHeight },\n"              \
    " page: { width: d.scrollWidth, height: d.scrollHeight },\n"                                   \
    " scroll: { x: Math.round(scrollX), y: Math.round(scrollY) } }); }"

/*
 * Scrolls an element into view. hit: a click at its center reaches it; href: its link's; kind, for
 * typing: file, select, secret, text or none.
 */
#define SCRIPT_READY                                                                               \
    "function () { if (!this.isConnected) return JSON.stringify({ gone: true });\n"                \
    "this.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });\n"           \
    "const box = this.getBoundingClientRect(), root = this.getRootNode();\n"                       \
    "const at = root.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);\n"           \
    "const link = this.closest('a[href]'), tag = this.tagName, type = this.type;\n"                \
    "const plain = new Set(['button', 'submit', 'reset', 'checkbox', 'radio', 'image', 'range',"   \
    " 'color', 'hidden']);\n"                                                                      \
    "const kind = tag === 'SELECT' ? 'select' : tag === 'TEXTAREA' || this.isContentEditable"      \
    " ? 'text' : tag !== 'INPUT' || plain.has(type) ? 'none' : type === 'file' ? 'file'"           \
    " : type === 'password' ? 'secret' : 'text';\n"                                                \
    "return JSON.stringify({ hit: Boolean(at) && (at === this || this.contains(at)"                \
    " || at.contains(this) && at.tagName === 'LABEL'), kind,"                                      \
    " href: link && typeof link.href === 'string' ? link.href : '' }); }"

/* A click without a pointer, for an element that is covered or has no place on the screen. */
#define SCRIPT_PRESS "function () { this.click(); return 'true'; }"

/* Focuses a field and selects its content, so that typing replaces it. */
#define SCRIPT_FOCUS                                                                               \
    "function () { this.focus(); if (this.select) this.select();\n"                                \
    "else getSelection().selectAllChildren(this); return 'true'; }"

/* Sets dates, times and the like, which cannot be typed as text. False: type it. */
#define SCRIPT_SET_VALUE                                                                           \
    "function (text) { if (!['date', 'time', 'datetime-local', 'month', 'week']"                   \
    ".includes(this.type)) return 'false';\n"                                                      \
    "this.value = text; this.dispatchEvent(new Event('input', { bubbles: true }));\n"              \
    "this.dispatchEvent(new Event('change', { bubbles: true })); return 'true'; }"

/* Selects the option with that text or value; returns null, or the available options. */
#define SCRIPT_CHOOSE                                                                              \
    "function (text) { const all = [...this.options];\n"                                           \
    "const same = o => o.text.trim() === text.trim() || o.value === text;\n"                       \
    "const option = all.find(same) ?? all.find(o => o.text.trim().toLowerCase()"                   \
    " === text.trim().toLowerCase());\n"                                                           \
    "if (!option) return JSON.stringify(all.slice(0, 20).map(o => o.text.trim()).join(', ')"       \
    ".slice(0, 150).toWellFormed());\n"                                                            \
    "this.value = option.value; option.selected = true;\n"                                         \
    "this.dispatchEvent(new Event('input', { bubbles: true }));\n"                                 \
    "this.dispatchEvent(new Event('change', { bubbles: true })); return 'null'; }"

/* (pixels): scrolls the page, or the scrollable element at its center. */
#define SCRIPT_SCROLL                                                                              \
    "pixels => { const tall = e => e.scrollHeight > e.clientHeight + 1\n"                          \
    " && /auto|scroll/.test(getComputedStyle(e).overflowY);\n"                                     \
    "const page = document.scrollingElement ?? document.documentElement;\n"                        \
    "let at = document.elementFromPoint(innerWidth / 2, innerHeight / 2);\n"                       \
    "while (page.scrollHeight <= innerHeight + 1 && at && !tall(at)) at = at.parentElement;\n"     \
    "const what = page.scrollHeight > innerHeight + 1 || !at ? page : at;\n"                       \
    "what.scrollBy({ top: pixels, behavior: 'instant' });\n"                                       \
    "return JSON.stringify({ y: Math.round(what.scrollTop) }); }"

/* (links): the document as Markdown; with the addresses of links when links is true. */
#define SCRIPT_MARKDOWN                                                                            \
    "links => {\n"                                                                                 \
    "const MOST = 4000000, DEEP = 400; let size = 0;\n"                                            \
    "const skip = new Set(('SCRIPT STYLE NOSCRIPT TEMPLATE HEAD CANVAS OBJECT EMBED IFRAME '"      \
    " + 'FRAME VIDEO AUDIO MAP DATALIST').split(' '));\n"                                          \
    "const block = new Set(('ADDRESS ARTICLE ASIDE DD DETAILS DIALOG DIV DL DT FIELDSET '"         \
    " + 'FIGCAPTION FIGURE FOOTER FORM HEADER HGROUP MAIN NAV SECTION SUMMARY LEGEND '"            \
    " + 'BODY').split(' '));\n"                                                                    \
    "const inside = (e, d, pre) => { let out = '';\n"                                              \
    " for (const n of (e.shadowRoot ?? e).childNodes) { if (size > MOST) break;"                   \
    " out += md(n, d + 1, pre); }\n"                                                               \
    " return out; };\n"                                                                            \
    "const line = text => text.replace(/\\s+/g, ' ').trim();\n"                                    \
    "const wrap = (mark, text) => text.trim() ? mark + text.trim() + mark : text;\n"               \
    "const list = (e, d) => { let n = Number(e.start ?? 1) || 1, out = '';\n"                      \
    " for (const item of e.children) { const mark = e.tagName === 'OL' ? n++ + '. ' : '- ';\n"     \
    "  const text = inside(item, d, false).trim().replace(/\\n{2,}/g, '\\n');\n"                   \
    "  out += mark + text.replace(/\\n/g, '\\n' + ' '.repeat(mark.length)) + '\\n'; }\n"           \
    " return '\\n\\n' + out + '\\n'; };\n"                                                         \
    "const table = (e, d) => { const rows = [...e.rows].map(r => [...r.cells]"                     \
    ".map(c => line(inside(c, d, false)).replace(/\\|/g, '\\\\|')));\n"                            \
    " const wide = Math.max(0, ...rows.map(r => r.length));\n"                                     \
    " if (!wide) return '';\n"                                                                     \
    " const out = rows.map(r => '| ' + r.join(' | ') + ' |');\n"                                   \
    " out.splice(1, 0, '|' + ' --- |'.repeat(wide));\n"                                            \
    " return '\\n\\n' + out.join('\\n') + '\\n\\n'; };\n"                                          \
    "const field = e => { if (e.type === 'hidden' || e.type === 'password') return '';\n"          \
    " if (e.tagName === 'SELECT') return [...e.selectedOptions].map(o => o.text).join(', ');\n"    \
    " if (e.type === 'checkbox' || e.type === 'radio') return e.checked ? '[x] ' : '[ ] ';\n"      \
    " return e.value || e.placeholder || ''; };\n"                                                 \
    "const md = (n, d, pre) => {\n"                                                                \
    " if (n.nodeType === 3) { const text = pre ? n.data : n.data.replace(/\\s+/g, ' ');\n"         \
    "  size += text.length; return text; }\n"                                                      \
    " if (n.nodeType !== 1 || d > DEEP || skip.has(n.tagName) || n.tagName === 'svg') return "     \
    "'';\n"                                                                                        \
    " if (n.checkVisibility && !n.checkVisibility({ visibilityProperty: true })"                   \
    " && getComputedStyle(n).display !== 'contents') return '';\n"                                 \
    " const tag = n.tagName;\n"                                                                    \
    " if (/^H[1-6]$/.test(tag)) { const text = line(inside(n, d, false));\n"                       \
    "  return text ? '\\n\\n' + '#'.repeat(Number(tag[1])) + ' ' + text + '\\n\\n' : ''; }\n"      \
    " if (tag === 'UL' || tag === 'OL' || tag === 'MENU') return list(n, d);\n"                    \
    " if (tag === 'TABLE') return table(n, d);\n"                                                  \
    " if (tag === 'BR') return '\\n';\n"                                                           \
    " if (tag === 'HR') return '\\n\\n---\\n\\n';\n"                                               \
    " if (tag === 'IMG') return n.alt ? '![' + line(n.alt) + ']' : '';\n"                          \
    " if (tag === 'INPUT' || tag === 'SELECT' || tag === 'TEXTAREA') return field(n);\n"           \
    " if (tag === 'PRE') return '\\n\\n```\\n' + inside(n, d, true).replace(/\\n$/, '')"           \
    " + '\\n```\\n\\n';\n"                                                                         \
    " const text = inside(n, d, pre);\n"                                                           \
    " if (tag === 'P') return '\\n\\n' + text.trim() + '\\n\\n';\n"                                \
    " if (tag === 'BLOCKQUOTE') return '\\n\\n> ' + text.trim().replace(/\\n/g, '\\n> ')"          \
    " + '\\n\\n';\n"                                                                               \
    " if (tag === 'A' && links && n.href && text.trim()) return '[' + line(text) + ']('"           \
    " + n.href + ')';\n"                                                                           \
    " if (tag === 'CODE' && !pre) return wrap('`', text);\n"                                       \
    " if (tag === 'STRONG' || tag === 'B') return wrap('**', text);\n"                             \
    " if (tag === 'EM' || tag === 'I') return wrap('*', text);\n"                                  \
    " return block.has(tag) ? '\\n' + text.trim() + '\\n' : text; };\n"                            \
    "const root = document.body ?? document.documentElement;\n"                                    \
    "const text = root ? md(root, 0, false) : '';\n"                                               \
    "return JSON.stringify(text.replace(/[ \\t]+\\n/g, '\\n').replace(/\\n{3,}/g, '\\n\\n')"       \
    ".trim().toWellFormed()); }"

/* () => {origin, localStorage: [{name, value}]}; no origin if the page has no storage. */
#define SCRIPT_STORAGE                                                                             \
    "() => { try { const list = Object.keys(localStorage)"                                         \
    ".map(name => ({ name, value: localStorage.getItem(name) }));\n"                               \
    "return JSON.stringify({ origin: location.origin, localStorage: list }); }\n"                  \
    "catch { return '{}'; } }"

/* (list): puts such entries into the page's storage. */
#define SCRIPT_STORE                                                                               \
    "list => { for (const { name, value } of list)"                                                \
    " localStorage.setItem(String(name), String(value));\n"                                        \
    "return 'true'; }"

#endif
