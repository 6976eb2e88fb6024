/**
 * What a package brings for the terminal, made from the commands' own help and the daemons' own settings, so that it
 * cannot say anything else: man pages, and the completion of bash.
 *
 *     node scripts/handbook.ts FOLDER    writes plantroom.1, plantroom-<daemon>.toml.5 and plantroom.bash
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TObject } from 'typebox'
import { expectedText, schemaTables } from '#kit/config/load.ts'
import { configFileOf, version } from '#kit/run/arguments.ts'
import type { Command } from './cli/command.ts'
import { commands } from './cli/commands.ts'
import { daemonNames, loadDaemon } from './cli/daemons.ts'
import { isMain } from './is-main.ts'

/** A daemon, as its page and the completion show it. */
export interface DaemonFacts {
  name: string
  title: string
  config: TObject
}

/** What every daemon takes. */
const DAEMON_OPTIONS = ['--config', '--state', '--listen', '--set', '--import', '--help', '--version']

// Man pages.

/** Plain text as roff has it. @source groff_man(7) */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')
}

/** As it stands, line by line. */
function verbatim(text: string): string {
  return `.nf\n${roff(text.trimEnd())}\n.fi\n`
}

function head(title: string, section: number, what: string): string {
  return `.TH ${title} ${section} "" "Plantroom ${version}" "Plantroom"\n.nh\n.ad l\n.SH NAME\n${roff(what)}\n`
}

/** `plantroom.1`: every command with its help. */
export function commandPage(all: readonly Command[], daemons: readonly DaemonFacts[]): string {
  const forms = all.map(({ help }) => help.slice(0, help.indexOf('\n')))
  const daemonForm = 'plantroom DAEMON [--config FILE] [--state DIR] [--listen HOST:PORT] [--set key=VALUE]...'
  const parts = [head('PLANTROOM', 1, 'plantroom - the daemons behind a building')]
  parts.push('.SH SYNOPSIS\n', verbatim([daemonForm, ...forms].join('\n')))
  parts.push('.SH DAEMONS\nEach runs until SIGTERM or SIGINT, mostly as the unit plantroom\\-DAEMON.service.\n')
  for (const { name, title } of daemons) parts.push(`.TP\n.B ${name}\n${roff(title)}; plantroom\\-${name}.toml(5)\n`)
  parts.push('.SH COMMANDS\n')
  for (const { help, name, summary } of all)
    parts.push(`.SS plantroom ${roff(name)}\n${roff(summary)}\n.PP\n${verbatim(help)}`)
  parts.push('.SH FILES\n')
  const files = {
    [configFileOf('DAEMON', {})]: 'settings; one that is missing means the defaults',
    '/usr/share/plantroom/DAEMON.toml': 'every setting with its default, to copy from',
    '/var/lib/plantroom/DAEMON': 'what was set up: plantroom backup puts it into one file',
  }
  for (const [file, what] of Object.entries(files)) parts.push(`.TP\n.I ${roff(file)}\n${roff(what)}\n`)
  parts.push('.SH SEE ALSO\nsystemctl(1), journalctl(1)\n')
  return parts.join('')
}

/** `plantroom-<daemon>.toml.5`: every setting with its meaning, what is allowed and its default. */
export function settingsPage({ config, name, title }: DaemonFacts): string {
  const file = configFileOf(name, {})
  const parts = [head(`PLANTROOM-${name.toUpperCase()}.TOML`, 5, `plantroom-${name}.toml - settings of the ${title}`)]
  const change = `plantroom check-config ${name} && systemctl restart plantroom-${name}`
  parts.push(
    `.SH DESCRIPTION\n${roff(`What stands in ${file} counts, and of the rest the default. After a change:`)}\n`,
  )
  parts.push('.PP\n', verbatim(change))
  for (const [table, { description, properties }] of Object.entries(schemaTables(config))) {
    parts.push(`.SH [${table}]\n`, description ? `${roff(description)}\n` : '')
    for (const [key, property] of Object.entries(properties)) {
      const byDefault = property.default === undefined ? '' : `, default ${JSON.stringify(property.default)}`
      const meaning = property.description ? `${roff(property.description)}\n.br\n` : ''
      parts.push(`.TP\n.B ${roff(key)}\n${meaning}${roff(`Allowed: ${expectedText(property)}${byDefault}.`)}\n`)
    }
  }
  parts.push('.SH SEE ALSO\nplantroom(1)\n')
  return parts.join('')
}

// Completion.

/** Options that a help names. */
function optionsOf({ help }: Command): string[] {
  return [...new Set(['--help', ...(help.match(/--[a-z][a-z-]*/g) ?? [])])].sort()
}

/** `plantroom.bash`: the commands, their options, and the daemons where one is to be named; files elsewhere. */
export function bashCompletion(all: readonly Command[], daemons: readonly string[]): string {
  const firsts = [...new Set([...all.map(({ name }) => name.split(' ')[0] ?? ''), ...daemons])].sort()
  const cases: string[] = []
  for (const first of firsts) {
    const own = all.filter(({ name }) => name.split(' ')[0] === first)
    const words = own.flatMap((command) => [
      ...command.name.split(' ').slice(1),
      ...optionsOf(command),
      ...(/^.*\bDAEMON\b/.test(command.help) ? daemons : []),
    ])
    if (daemons.includes(first)) words.push(...DAEMON_OPTIONS)
    cases.push(`    ${first}) words='${[...new Set(words)].join(' ')}' ;;`)
  }
  return `# Completion of plantroom for bash.
_plantroom() {
  local words
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  [ "$COMP_CWORD" -gt 1 ] || words='${firsts.join(' ')} --help --version'
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _plantroom plantroom
`
}

if (isMain(import.meta)) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) throw new Error('expected: node scripts/handbook.ts FOLDER')
  const sources = join(import.meta.dirname, '../daemons')
  const daemons = await Promise.all(daemonNames(sources).map((name) => loadDaemon(sources, name)))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'plantroom.1'), commandPage(commands, daemons))
  for (const daemon of daemons) writeFileSync(join(folder, `plantroom-${daemon.name}.toml.5`), settingsPage(daemon))
  writeFileSync(
    join(folder, 'plantroom.bash'),
    bashCompletion(
      commands,
      daemons.map(({ name }) => name),
    ),
  )
}
