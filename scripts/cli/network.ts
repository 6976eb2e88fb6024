/** `plantroom network`: under which addresses and names this machine is reached, and what answers there. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadConfig } from '#kit/config/load.ts'
import { parseListen, urlOfListen } from '#kit/config/tables.ts'
import { hostLabel } from '#kit/net/mdns/mdns.ts'
import { Fault } from '#kit/pure/fault.ts'
import { configFileOf, exitCodes } from '#kit/run/arguments.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { loadDaemon } from './daemons.ts'
import { type DaemonStatus, daemonStatuses } from './status.ts'

const form = 'network [--json]'

/** How long `ip` may take. */
const ANSWER_MS = 5000
/** Of what `ip` says: some thousand addresses. */
const MOST_BYTES = 4_194_304

/** What is told, as JSON has it. */
export interface NetworkFacts {
  hostname: string
  /** By which daemons that are announced are found; null if none is, or none answers. */
  mdnsName: string | null
  dns: string[]
  gateways: Gateway[]
  interfaces: Interface[]
}

interface Gateway {
  address: string
  interface: string
  /** Where the route comes from: dhcp, static, ra (an announcement of the router), boot, kernel. */
  from: string
}

interface Interface {
  name: string
  /** up, down, or what else the kernel says: dormant, lowerlayerdown, unknown. */
  link: string
  /** null where there is no cable, or the driver does not say. */
  speedMbit: number | null
  mac: string | null
  addresses: Address[]
}

interface Address {
  address: string
  prefix: number
  /** `dynamic`: by DHCP or the router, and may change. */
  kind: 'dynamic' | 'static'
  /** Pages of the daemons that answer now. */
  pages: { daemon: string; url: string }[]
}

export const network: Command = {
  name: 'network',
  summary: 'addresses, gateway, DNS and names of this machine, and which pages answer there',
  help: `plantroom ${form}

Shows each network interface with its link, its speed and its addresses, and for each address the pages of the daemons that
answer there; the gateways, the DNS servers, and the names of this machine. Needs no rights and changes nothing: plantroom network set does,
as does the page Settings of a board.
  --json         one JSON object
Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 no address that other machines reach.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } })
    requireWords(positionals, 0, 0, form)
    const facts = await networkFacts(world, daemonStatuses(world))
    world.out(values.json ? `${JSON.stringify(facts, null, 2)}\n` : factsText(facts))
    return facts.interfaces.some(({ addresses }) => addresses.length > 0) ? exitCodes.fine : exitCodes.notRunning
  },
}

/**
 * What answers here, and under which addresses.
 * @param daemons as asked, or being asked
 * @throws Fault `no_network_facts`
 */
export async function networkFacts(world: World, daemons: Promise<readonly DaemonStatus[]>): Promise<NetworkFacts> {
  const [links, four, six, pages] = await Promise.all([
    askIp<IpLink>(world, ['address']),
    askIp<IpRoute>(world, ['-4', 'route', 'show', 'default']),
    askIp<IpRoute>(world, ['-6', 'route', 'show', 'default']),
    pagesOf(world, daemons),
  ])
  return {
    hostname: hostname(),
    mdnsName: pages.some(({ isAnnounced }) => isAnnounced) ? `${hostLabel(hostname())}.local` : null,
    dns: dnsServers(),
    gateways: [...four, ...six].flatMap(({ dev, gateway, protocol }) =>
      gateway === undefined ? [] : [{ address: gateway, interface: dev, from: protocol ?? 'boot' }],
    ),
    interfaces: links
      .filter(({ flags }) => !flags.includes('LOOPBACK'))
      .map(({ addr_info: addresses, address: mac, ifname: name, operstate }) => ({
        ...{ name, link: operstate.toLowerCase(), speedMbit: linkSpeed(name), mac: mac ?? null },
        // Others reach no address of a link without its interface, and a page's address cannot name that.
        addresses: addresses.filter(({ scope }) => scope === 'global').map((one) => addressFacts(one, pages)),
      })),
  }
}

// What the system says.

/** @source ip-address(8), ip-route(8): -json */
interface IpLink {
  ifname: string
  operstate: string
  flags: string[]
  address?: string
  addr_info: IpAddress[]
}

interface IpAddress {
  family: 'inet' | 'inet6'
  local: string
  prefixlen: number
  scope: string
  dynamic?: boolean
}

interface IpRoute {
  dev: string
  gateway?: string
  protocol?: string
}

async function askIp<Row>({ env }: World, words: readonly string[]): Promise<Row[]> {
  try {
    const bounds = { env: { ...env, LC_ALL: 'C' }, timeout: ANSWER_MS, maxBuffer: MOST_BYTES }
    const { stdout } = await promisify(execFile)('ip', ['-json', ...words], bounds)
    // Where there is no route, some versions say nothing at all.
    return words.includes('route') && stdout.trim() === '' ? [] : (JSON.parse(stdout) as Row[])
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    const why = isMissing ? 'is not installed: apt-get install iproute2' : `failed: ${(cause as Error).message.trim()}`
    throw new Fault('no_network_facts', `ip, which knows the addresses of this machine, ${why}`, { cause })
  }
}

/**
 * Speed of a link in Mbit/s.
 * @param folder of the kernel
 * @returns null where the driver knows none
 * @source Documentation/ABI/testing/sysfs-class-net: speed
 */
export function linkSpeed(name: string, folder = '/sys/class/net'): number | null {
  try {
    const speed = Number(readFileSync(join(folder, name, 'speed'), 'utf8'))
    return speed > 0 ? speed : null
  } catch {
    return null
  }
}

/** systemd-resolved writes itself into resolv.conf, and whom it asks beside its state. @source resolv.conf(5), systemd-resolved(8) */
const RESOLVERS = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']

/** Addresses of the DNS servers. @param files in which to look; the first that names another than this machine counts */
export function dnsServers(files: readonly string[] = RESOLVERS): string[] {
  let servers: string[] = []
  for (const file of files)
    try {
      servers = [...readFileSync(file, 'utf8').matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, server = '']) => server)
      if (servers.some((server) => !server.startsWith('127.'))) return servers
    } catch {
      // The next one may be there.
    }
  return servers
}

// What answers.

/** A daemon that answers, by its settings. */
interface Page {
  daemon: string
  host: string
  port: number
  tls: boolean
  isAnnounced: boolean
}

async function pagesOf(world: World, daemons: Promise<readonly DaemonStatus[]>): Promise<Page[]> {
  const pages = await Promise.all(
    (await daemons).map(async ({ daemon, health }): Promise<Page[]> => {
      if (health !== 'answers') return []
      const { config: schema } = await loadDaemon(world.daemonsFolder, daemon)
      const file = configFileOf(daemon, world.env)
      const { value } = await loadConfig({ schema, file, mustExist: false, sets: [] })
      const { http, mdns } = value as { http: { listen: string; tls: boolean }; mdns?: { enabled: boolean } }
      return [{ daemon, ...parseListen(http.listen), tls: http.tls, isAnnounced: mdns?.enabled ?? false }]
    }),
  )
  return pages.flat()
}

function addressFacts({ dynamic, family, local, prefixlen }: IpAddress, pages: readonly Page[]): Address {
  const reached = pages.filter(
    ({ host }) => host === local || host === '::' || (host === '0.0.0.0' && family === 'inet'),
  )
  return {
    address: local,
    prefix: prefixlen,
    kind: dynamic ? 'dynamic' : 'static',
    pages: reached.map(({ daemon, port, tls }) => ({
      daemon,
      url: `${urlOfListen({ host: local, port }, tls ? 'https' : 'http')}/`,
    })),
  }
}

// For people.

function factsText({ dns, gateways, hostname: host, interfaces, mdnsName }: NetworkFacts): string {
  const lines = [
    `name     ${[host, ...(mdnsName === null ? [] : [mdnsName])].join(', ')}`,
    `gateway  ${gateways.map(({ address, from, interface: name }) => `${address} (${name}, ${from})`).join(', ') || 'none'}`,
    `dns      ${dns.join(', ') || 'none'}`,
  ]
  for (const { addresses, link, mac, name, speedMbit } of interfaces) {
    const speed = speedMbit === null ? [] : [`${speedMbit} Mbit/s`]
    lines.push('', `${name}: ${[link, ...speed, ...(mac === null ? [] : [mac])].join(', ')}`)
    if (addresses.length === 0) lines.push('  no address')
    for (const { address, kind, pages, prefix } of addresses) {
      lines.push(`  ${address}/${prefix} ${kind}`)
      for (const { daemon, url } of pages) lines.push(`    ${daemon.padEnd(10)} ${url}`)
    }
  }
  return `${lines.join('\n')}\n`
}
