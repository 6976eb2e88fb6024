/**
 * Bundles the pages of a daemon: a script and a style sheet for all, and a part for each page that is loaded when
 * opened.
 */
import { globSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Metafile, type Plugin } from 'esbuild'
import { packedPage } from '#kit/http/static-pages.ts'
import { isMain } from './is-main.ts'

/**
 * Largest transfer of a page: script and style of all pages, its own part, and whatever that part needs. What the part
 * loads once the page is shown may add as much again (docs/decisions/page-design.md).
 */
const MOST_GZIP_BYTES = 40_000

/** What to bundle. */
export interface WebBundle {
  /** Daemon whose `daemons/<daemon>/web/main.ts` and `main.css` are bundled. */
  daemon: string
  /**
   * Output folder, emptied first: `index.html`, `app-<hash>.js`, `app-<hash>.css`, `part-<hash>.js`, `icon.svg`, those
   * that are worth it packed as `<name>.gz`, source maps.
   */
  outDir: string
}

/** Size of one page. */
export interface PageWeight {
  /** Source file of the page's own part; for the first page that of the entry. */
  page: string
  gzipBytes: number
}

/** Loaded in parallel and not counted, since nobody waits for it. */
const PRINT = 'kit/web/print.css'

/** The HTML itself has no script and no style, so the strictest content security policy holds. */
function pageOf(title: string, names: { js: string; css: string; print: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="theme-color" content="#f1f3f1" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#0b0f0f" media="(prefers-color-scheme: dark)">
<title>${title}</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${names.css}">
<link rel="stylesheet" media="print" href="${names.print}">
<script type="module" src="${names.js}"></script>
</head>
<body class="app"><noscript>This page is drawn by a script, and this browser runs none. The same can be done over HTTP: /api/openapi.json.</noscript></body>
</html>
`
}

/**
 * Removes indentation inside templates, which htm would drop anyway after the transfer. And makes each part import what
 * the first page has already loaded: esbuild groups modules by the parts that need them, and would otherwise produce
 * dozens of small files that compress badly.
 */
function prepared(base: ReadonlySet<string>, parts: ReadonlySet<string>): Plugin {
  const needs = [...base].map((path) => `import ${JSON.stringify(path)}\n`).join('')
  return {
    name: 'prepared',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]web[\\/][\w-]+\.ts$/ }, async ({ path }) => {
        const text = await withTexts(await readFile(path, 'utf8'), path)
        return { contents: (parts.has(path) ? needs : '') + text.replaceAll(/\n[ \t]+/g, '\n'), loader: 'ts' }
      })
    },
  }
}

/**
 * All texts of a daemon are in one module. Each importer gets its own copy, of which only the texts it uses remain: no
 * page carries the texts of another.
 */
const ownTexts: Plugin = {
  name: 'own texts',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/texts\.ts$/ }, ({ path, resolveDir, importer }) => ({
      path: join(resolveDir, path),
      suffix: `?${basename(importer)}`,
    }))
  },
}

/** Replaces each `texts.name` that is a plain string by the string, since names cost bytes. */
async function withTexts(source: string, path: string): Promise<string> {
  if (!source.includes("import * as texts from './texts.ts'")) return source
  const texts: Record<string, unknown> = await import(join(dirname(path), 'texts.ts'))
  return source.replaceAll(/\btexts\.(\w+)/g, (whole, name: string) => {
    const text = texts[name]
    return typeof text === 'string' ? JSON.stringify(text) : whole
  })
}

/** What the pages of a daemon are made of; writes nothing. @param main path of their `main.ts` */
export async function pagesMetafile(root: string, main: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [main],
    bundle: true,
    write: false,
    metafile: true,
  })
  return metafile
}

/** Our own modules loaded with the first page, and those loaded later. */
async function readShape(root: string, main: string): Promise<{ base: Set<string>; parts: Set<string> }> {
  const metafile = await pagesMetafile(root, main)
  const base = new Set<string>()
  const parts = new Set<string>()
  function walk(path: string): void {
    if (base.has(path)) return
    base.add(path)
    for (const each of metafile.inputs[path]?.imports ?? []) if (each.kind === 'import-statement') walk(each.path)
  }
  for (const { imports } of Object.values(metafile.inputs))
    for (const each of imports) if (each.kind === 'dynamic-import') parts.add(join(root, each.path))
  const first = relative(root, main).replaceAll(sep, '/')
  walk(first)
  base.delete(first)
  return { base: new Set([...base].filter(isOurs).map((path) => join(root, path))), parts }
}

/** Texts are excluded: each module has its own copy. */
function isOurs(path: string): boolean {
  return !path.includes('node_modules') && basename(path) !== 'texts.ts'
}

/**
 * Bundles, minified, with source maps.
 * @returns the pages with their gzip sizes, heaviest first
 * @throws Error if one is over 40 kB gzip
 */
export async function bundleWeb({ daemon, outDir }: WebBundle): Promise<PageWeight[]> {
  await rm(outDir, { recursive: true, force: true })
  await mkdir(outDir, { recursive: true })
  const root = dirname(import.meta.dirname)
  const from = join(root, 'daemons', daemon, 'web')
  const { base, parts } = await readShape(root, join(from, 'main.ts'))
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(from, 'main.ts'), join(from, 'main.css'), join(root, PRINT)],
    outdir: outDir,
    bundle: true,
    splitting: true,
    minify: true,
    sourcemap: 'external',
    metafile: true,
    format: 'esm',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    entryNames: 'app-[hash]',
    chunkNames: 'part-[hash]',
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [ownTexts, prepared(base, parts)],
  })
  const js = outputOf(metafile, `daemons/${daemon}/web/main.ts`)
  const css = outputOf(metafile, `daemons/${daemon}/web/main.css`)
  await copyFile(join(root, 'kit/web/icon.svg'), join(outDir, 'icon.svg'))
  const names = { js: basename(js), css: basename(css), print: basename(outputOf(metafile, PRINT)) }
  await writeFile(join(outDir, 'index.html'), pageOf(`Plantroom ${daemon}`, names))
  await packAll(outDir)
  return await weigh(metafile, root, { js, css })
}

async function packAll(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const packed = name.endsWith('.map') ? undefined : packedPage(name, await readFile(join(folder, name)))
    if (packed) await writeFile(join(folder, `${name}.gz`), packed)
  }
}

function outputOf(metafile: Metafile, entry: string): string {
  const found = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === entry)
  if (!found) throw new Error(`esbuild wrote nothing for ${entry}`)
  return found[0]
}

/**
 * A page is the entry and one part that it loads, each with everything they import. Parts loaded only by another part
 * come later: they are counted without what every page has.
 */
async function weigh(
  metafile: Metafile,
  root: string,
  { js, css }: { js: string; css: string },
): Promise<PageWeight[]> {
  const first = new Set([css, ...needs(metafile, js)])
  const all = fetchedBy(metafile, Object.keys(metafile.outputs))
  const opened = new Set([js, ...fetchedBy(metafile, first)])
  const pages = [...new Set([js, ...all])].map(async (part) => {
    const own = [...needs(metafile, part)]
    const needed = opened.has(part) ? new Set([...first, ...own]) : own.filter((path) => !first.has(path))
    const sizes = await Promise.all(
      [...needed].map(async (path) => gzipSync(await readFile(join(root, path)), { level: 9 }).length),
    )
    const gzipBytes = sizes.reduce((sum, size) => sum + size, 0)
    return { page: metafile.outputs[part]?.entryPoint ?? part, gzipBytes }
  })
  const weights = (await Promise.all(pages)).sort((a, b) => b.gzipBytes - a.gzipBytes)
  const heavy = weights.find((weight) => weight.gzipBytes > MOST_GZIP_BYTES)
  if (heavy)
    throw new Error(`${heavy.page} weighs ${heavy.gzipBytes} bytes gzip, at most ${MOST_GZIP_BYTES} are allowed`)
  return weights
}

/** Parts that these files load when they run. */
function fetchedBy(metafile: Metafile, paths: Iterable<string>): string[] {
  return [...paths].flatMap((path) =>
    (metafile.outputs[path]?.imports ?? []).filter(isFetched).map((each) => each.path),
  )
}

function isFetched({ kind }: { kind: string }): boolean {
  return kind === 'dynamic-import'
}

function needs(metafile: Metafile, path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen
  seen.add(path)
  for (const each of metafile.outputs[path]?.imports ?? [])
    if (each.kind === 'import-statement') needs(metafile, each.path, seen)
  return seen
}

if (isMain(import.meta)) {
  const root = dirname(import.meta.dirname)
  for (const entry of globSync('daemons/*/web/main.ts', { cwd: root })) {
    const daemon = entry.split(sep)[1] ?? ''
    const weights = await bundleWeb({ daemon, outDir: join(root, 'build/web', daemon) })
    for (const { page, gzipBytes } of weights) process.stdout.write(`${page} ${gzipBytes} bytes gzip\n`)
  }
}
