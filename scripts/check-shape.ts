/**
 * Enforces the shape of the house: every daemon has the same folders and files, one unit and one chapter; a unit starts
 * a daemon, or the helper; no file is hidden; files, style sheets included, are short; each file opens by saying what it owns, and in
 * wire/ where its bytes are specified.
 *
 *     node scripts/check-shape.ts [FOLDER]
 */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isMain } from './is-main.ts'

/** Lines a file may have. Functions are measured by biome (noExcessiveLinesPerFunction, useMaxParams). */
const MOST_LINES = 500

/** Required in every folder of daemons/. */
const DAEMON_PARTS = ['main.ts', 'assemble.ts', 'config.ts', 'wire', 'core', 'io', 'api', 'web', 'test']
/** Optional in a daemon: more of assemble.ts, the board's roles, and data read on demand. */
const DAEMON_MAY_HAVE = ['assemble', 'roles', 'templates']

/** Units that start no daemon, by the folder of what they start. */
const OTHER_UNITS: Readonly<Record<string, string>> = {
  helper: 'native/helper',
  update: 'scripts/cli/update.ts',
  'update-asked': 'scripts/cli/update-asked.ts',
  'update-timed': 'scripts/cli/update.ts',
  'update-settle': 'scripts/cli/update.ts',
  'update-undo': 'scripts/cli/update.ts',
}

/** Names that do not say what a file owns. */
const EMPTY_NAMES = /^(utils?|helpers?|types|manager|misc|common-stuff|stuff|lib)\.ts$/

/** Tables and generated text may be longer: listed here, with the reason. */
const LONG_FILES: Readonly<Record<string, string>> = {
  'daemons/board/web/texts.ts': 'all texts of the pages, to be read and translated in one go',
  'daemons/controller/web/texts.ts': 'all texts of the pages, to be read and translated in one go',
  'daemons/gateway/web/texts.ts': 'all texts of the pages, to be read and translated in one go',
  'daemons/recorder/web/texts.ts': 'all texts of the pages, to be read and translated in one go',
}

/** Every fault below `root`, one line each. */
export function shapeFaults(root: string): string[] {
  const files = globSync('{daemons,kit,native,scripts}/**/*.{ts,cc,h,css}', { cwd: root })
    .filter((file) => !/(^|\/)(node_modules|build|prebuilds)\//.test(file))
    .sort()
  if (files.length === 0) return [`no source file found below ${root}: the check looks in the wrong place`]
  return [...hiddenFaults(root), ...daemonFaults(root), ...files.flatMap((file) => fileFaults(root, file))]
}

/** An editor's or a script's scratch file, which no listing shows and no check reads. */
function hiddenFaults(root: string): string[] {
  return globSync('{daemons,docs,firmware-images,kit,native,scripts,systemd}/**/.*', { cwd: root })
    .filter((file) => !/(^|\/)(node_modules|build|prebuilds)\//.test(file))
    .map((file) => `${file} is hidden: give it a name that is seen, or remove it`)
}

function daemonFaults(root: string): string[] {
  const folder = join(root, 'daemons')
  const names = existsSync(folder) ? readdirSync(folder) : []
  const faults = names.length === 0 ? ['daemons/ holds no daemon'] : []
  for (const name of names) {
    const has = readdirSync(join(folder, name))
    for (const part of DAEMON_PARTS) if (!has.includes(part)) faults.push(`daemons/${name} has no ${part}`)
    for (const part of has)
      if (!DAEMON_PARTS.includes(part) && !DAEMON_MAY_HAVE.includes(part))
        faults.push(`daemons/${name}/${part} is no part of a daemon`)
    if (!existsSync(join(root, `systemd/plantroom-${name}.service`)))
      faults.push(`daemons/${name} has no unit systemd/plantroom-${name}.service`)
    if (!existsSync(join(root, `docs/${name}.md`))) faults.push(`daemons/${name} has no chapter docs/${name}.md`)
    if (!globSync(`daemons/${name}/test/**/*.e2e.test.ts`, { cwd: root }).length)
      faults.push(`daemons/${name} has no end-to-end test`)
  }
  const units = existsSync(join(root, 'systemd')) ? readdirSync(join(root, 'systemd')) : []
  for (const unit of units) {
    const name = /^plantroom-(.+)\.(?:service|socket|timer)$/.exec(unit)?.[1]
    if (name === undefined || names.includes(name)) continue
    const started = OTHER_UNITS[name]
    if (started === undefined || !existsSync(join(root, started)))
      faults.push(`systemd/${unit} starts no daemon of this house`)
  }
  return faults
}

function fileFaults(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const lines = text.split('\n')
  const faults: string[] = []
  const count = lines.at(-1) === '' ? lines.length - 1 : lines.length
  if (count > MOST_LINES && !(file in LONG_FILES))
    faults.push(
      `${file} has ${count} lines, at most ${MOST_LINES} are allowed: a part that stands by itself goes into a file of its own`,
    )
  if (EMPTY_NAMES.test(basename(file))) faults.push(`${file}: the name does not say what the file owns`)
  // A test's titles say what it is about.
  if (!file.endsWith('.test.ts') && !/^(#!.*\n)?(\/\*|\/\/)/.test(text))
    faults.push(`${file} does not open with a sentence on what it owns`)
  return [...faults, ...sourceFaults(file, text)]
}

/** Where a codec's bytes are specified: in its own docstring, or in the comment that opens its file. */
function sourceFaults(file: string, text: string): string[] {
  if (!/^daemons\/.*\/?wire\/[^/]/.test(file) || /(^|\/)test\//.test(file)) return []
  if (/^\/\*\*(?:(?!\*\/)[\s\S])*@source/.test(text)) return []
  const exports = text.matchAll(/(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^export (?:async )?(?:function|class|const) (\w+)/gm)
  return [...exports].flatMap(([, docstring, name]) =>
    docstring?.includes('@source') ? [] : [`${file}: ${name} has no @source, nor has the comment that opens the file`],
  )
}

if (isMain(import.meta)) {
  const faults = shapeFaults(process.argv[2] ?? process.cwd())
  for (const fault of faults) console.log(fault)
  process.exitCode = faults.length > 0 ? 1 : 0
}
