/** `plantroom banner`: what whoever signs in by ssh or at the console should know first. */
import { exitCodes } from '#kit/run/arguments.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { memoryWarning } from './image-settings.ts'
import { networkFacts } from './network.ts'
import { type DaemonStatus, daemonStatuses } from './status.ts'

export const banner: Command = {
  name: 'banner',
  summary: 'what a login shows: names, roles, addresses and states in a few lines',
  help: `plantroom banner

Says what runs on this machine, what it is called, where its pages are, and what is wrong. The package has it said at each login
(/etc/update-motd.d/60-plantroom), where it is cut off after two seconds. Daemons that are switched off are left out.
Exit codes: 0 in any case, 2 wrong usage.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const { positionals } = parseCommand(argv, {})
    requireWords(positionals, 0, 0, 'banner')
    const asked = daemonStatuses(world)
    const [all, pages] = await Promise.all([asked, pagesByDaemon(world, asked)])
    world.out([...memoryWarning(world), bannerText(all, pages)])
    return exitCodes.fine
  },
}

/** Addresses of the pages that others reach; undefined where `ip` is missing: the rest is worth saying. */
async function pagesByDaemon(
  world: World,
  asked: Promise<readonly DaemonStatus[]>,
): Promise<ReadonlyMap<string, string[]> | undefined> {
  const found = new Map<string, string[]>()
  const facts = await networkFacts(world, asked).catch(() => undefined)
  if (facts === undefined) return undefined
  for (const { pages } of facts.interfaces.flatMap(({ addresses }) => addresses) ?? [])
    for (const { daemon, url } of pages) found.set(daemon, [...(found.get(daemon) ?? []), url])
  return found
}

function bannerText(all: readonly DaemonStatus[], pages: ReadonlyMap<string, string[]> | undefined): string {
  const on = all.filter(({ health }) => health !== 'off')
  const version = on.find((one) => one.version !== null)?.version
  const lines = [`Plantroom${version ? ` ${version}` : ''}`, '']
  if (on.length === 0)
    lines.push('  nothing is switched on: systemctl enable --now plantroom-board, or what else the box is to be')
  for (const one of on) {
    lines.push(`  ${one.daemon.padEnd(11)} ${wordsOf(one)}`)
    if (one.health === 'answers')
      for (const url of pages?.get(one.daemon) ?? [`${one.url}/${pages ? ' (this machine alone)' : ''}`])
        lines.push(`              ${url}`)
  }
  return `${lines.join('\n')}\n\n  plantroom status, logs, network and report say more.\n`
}

function wordsOf({ daemon, health, name, role, verdict }: DaemonStatus): string {
  if (health === 'answers') {
    const who = [name, role].filter((one) => one !== null && one !== '').join(', ')
    const how = verdict?.text ?? 'runs'
    return who === '' ? how : `${who}: ${how}`
  }
  if (health === 'settings refused') return `its settings are refused: plantroom check-config ${daemon}`
  if (health === 'wrong answer') return 'something else answers at its address: plantroom status'
  return `does not answer: plantroom logs ${daemon}`
}
