/** `plantroom network set` and `network confirm`: have the board of this machine change its address, and keep it. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { isIPv4 } from 'node:net'
import { promisify } from 'node:util'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { loadConfig } from '#kit/config/load.ts'
import { readJsonAnswer } from '#kit/net/json-answer.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { configFileOf, exitCodes } from '#kit/run/arguments.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { loadDaemon } from './daemons.ts'
import { belowBase } from './image-settings.ts'

const SET = 'network set dhcp|ADDRESS/PREFIX [--gateway ADDRESS|none] [--dns A,B] [--hostname NAME] [--json]'
const CONFIRM = 'network confirm [--json]'

const EXITS =
  'Exit codes: 0 done; 1 the board did not do it, or you may not ask it; 2 wrong usage, or what does not fit; 3 no board answers here.\n'

export const networkSet: Command = {
  name: 'network set',
  summary: 'give a board its address, gateway and name; an address that nobody reaches is taken back',
  help: `plantroom ${SET}

    plantroom network set 10.20.4.11/24 --gateway 10.20.4.1
    plantroom network set dhcp
    plantroom network set --hostname lobby-ceiling

Saves what is named into the settings of the board that owns this machine, and restarts the machine, which then has the new
address. It keeps it once its page was opened there from another machine, or \`plantroom network confirm\` was run on it. Where
nobody does so within two minutes of its start, it goes back to the fixed address at which it was reached before, or to DHCP;
so it does where DHCP was set and gives no address.
Pulling the power meanwhile leaves it so: the two minutes begin anew. Needs root. Of machines that are not a board's, the
system sets the address; the command then says where.
  --gateway      in the network of the address, or none; needed with an address
  --dns          servers that answer for names, up to three with commas between; without it the gateway
  --hostname     one label of letters, digits and hyphens
  --json         one JSON object
${EXITS}`,
  stateUse: () => undefined,
  async run(argv, world) {
    const { values, positionals } = parseCommand(argv, {
      gateway: { type: 'string' },
      dns: { type: 'string' },
      hostname: { type: 'string' },
      json: { type: 'boolean' },
    })
    requireWords(positionals, 0, 1, SET)
    const change = changeOf(positionals[0], values)
    return await sayWhereNoBoardIs(world, async () => {
      const answer = await askBoard(world, 'PATCH', '/network', change)
      if (!Value.Check(saved, answer)) throw otherVersion()
      const told = { ...answer, address: answer.static_ip ? answer.ip : null }
      world.out(values.json ? `${JSON.stringify(toldAsJson(told), null, 2)}\n` : savedText(told))
    })
  },
}

export const networkConfirm: Command = {
  name: 'network confirm',
  summary: 'keep the new address of a board, which you have reached there',
  help: `plantroom ${CONFIRM}

After plantroom network set: says, on the board itself, that it is reached at its new address, such as by this very ssh. It then
keeps it. Opening its page there from another machine says the same. Needs root.
  --json         one JSON object
${EXITS}`,
  stateUse: () => undefined,
  async run(argv, world) {
    const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } })
    requireWords(positionals, 0, 0, CONFIRM)
    return await sayWhereNoBoardIs(world, async () => {
      const answer = await askBoard(world, 'POST', '/network/confirm', undefined)
      if (!Value.Check(confirmed, answer)) throw otherVersion()
      world.out(values.json ? `${JSON.stringify({ confirmed: true, text: answer.text })}\n` : `${answer.text}\n`)
    })
  },
}

// What is asked for.

/** Settings of the board that are to change. */
type Change = Partial<Record<'static_ip' | 'ip' | 'mask' | 'gw' | 'dns' | 'hostname', string>>

/** @throws Fault `bad_usage` */
function changeOf(
  word: string | undefined,
  { dns, gateway, hostname }: { dns?: string; gateway?: string; hostname?: string },
): Change {
  const name = hostname === undefined ? {} : { hostname }
  if ((gateway ?? dns) !== undefined && (word === undefined || word === 'dhcp'))
    throw new Fault('bad_usage', '--gateway and --dns go with an address: DHCP names gateway and servers itself')
  if (word === undefined && hostname === undefined) throw new Fault('bad_usage', `expected: plantroom ${SET}`)
  if (word === undefined) return name
  if (word === 'dhcp') return { static_ip: '0', ...name }
  const [, ip = '', ones = ''] = /^([^/]+)\/(\d{1,2})$/.exec(word) ?? []
  if (!isIPv4(ip) || Number(ones) < 8 || Number(ones) > 30)
    throw new Fault(
      'bad_usage',
      `${JSON.stringify(word)} is neither dhcp nor an IPv4 address with the length of its network, 8 to 30, such as 10.20.4.11/24`,
    )
  if (gateway === undefined)
    throw new Fault('bad_usage', 'an address needs --gateway ADDRESS, or --gateway none in a network without a way out')
  return {
    static_ip: '1',
    ip,
    mask: maskOf(Number(ones)),
    gw: gateway === 'none' ? '' : gateway,
    dns: dns ?? '',
    ...name,
  }
}

function maskOf(ones: number): string {
  const mask = 2 ** 32 - 2 ** (32 - ones)
  return [24, 16, 8, 0].map((shift) => Math.floor(mask / 2 ** shift) % 256).join('.')
}

// What the board says.

const line = Type.String({ maxLength: 1000 })
const saved = Type.Object({
  changed: Type.Array(line, { maxItems: 32 }),
  restarts: Type.Boolean(),
  about_s: Type.Number(),
  confirm_s: Type.Number(),
  goes_back_to: line,
  ...{ static_ip: Type.Boolean(), ip: line, hostname: line },
})
type Told = Type.Static<typeof saved> & { address: string | null }
const confirmed = Type.Object({ text: line })
const refusal = Type.Object({
  error: line,
  message: line,
  fields: Type.Optional(Type.Array(Type.Object({ field: line, message: line }), { maxItems: 32 })),
})

function toldAsJson({ about_s, address, changed, confirm_s, goes_back_to, hostname, restarts }: Told) {
  return { saved: true, changed, restarts_machine: restarts, about_s, address, hostname, confirm_s, goes_back_to }
}

function savedText({
  about_s: aboutS,
  address,
  confirm_s: confirmS,
  goes_back_to: back,
  hostname,
  restarts,
}: Told): string {
  if (!restarts) return 'It is set so already. Nothing was changed, and nothing restarts.\n'
  const saved = `Saved. The machine restarts now, and is back in about ${aboutS} s`
  const within = durationText(confirmS * 1000)
  const ifNone = back === 'DHCP' ? '' : `If none comes within ${within}, it goes back to ${back}.\n`
  if (address === null) return `${saved} with an address from DHCP. Find it there, or as ${hostname}.local.\n${ifNone}`
  return `${saved} at ${address}.
Open http://${address}/ from another machine, or sign in there by ssh and run plantroom network confirm, within ${within} of
its start: otherwise it goes back to ${back}. An address that was reached already is kept without that.
`
}

/** What the board calls its fields, as they are typed here. */
const TYPED: Readonly<Record<string, string>> = {
  ...{ ip: 'the address', mask: 'the length of its network', gw: '--gateway', dns: '--dns', hostname: '--hostname' },
}

// Asking it.

/** How long its answer may take, and how long it may be. It writes to a card first. */
const ANSWER_MS = 20_000
const MOST_BYTES = 65_536

/** Where the socket of a board that systemd has started is. */
const SOCKET = '/run/plantroom/board/ota.sock'

/** @throws Fault `no_board`, `network_refused`, `bad_usage` for fields that do not fit */
async function askBoard(world: World, method: string, path: string, body: object | undefined): Promise<unknown> {
  const socketPath = await socketOf(world)
  const call = request({ ...{ socketPath, method, path, agent: false }, signal: AbortSignal.timeout(ANSWER_MS) })
  let answer: { status: number; body: unknown }
  try {
    call.end(body && JSON.stringify(body))
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    call.on('error', () => {})
    answer = await readJsonAnswer(response, MOST_BYTES)
  } catch (cause) {
    throw unanswered(socketPath, cause as NodeJS.ErrnoException)
  }
  if (answer.status === 200) return answer.body
  if (!Value.Check(refusal, answer.body)) throw otherVersion()
  const { error, fields, message } = answer.body
  if (error === 'network_not_owned') throw new Fault('no_board', message)
  if (error !== 'bad_fields') throw new Fault('network_refused', message)
  const faults = fields?.map(({ field, message: why }) => `${TYPED[field] ?? field}: ${why}`) ?? [message]
  throw new Fault('bad_usage', faults.join('\n'))
}

async function socketOf(world: World): Promise<string> {
  const { config: schema } = await loadDaemon(world.daemonsFolder, 'board')
  const { value } = await loadConfig({ schema, file: configFileOf('board', world.env), mustExist: false, sets: [] })
  return (value as { ota: { socket: string } }).ota.socket || belowBase(world, SOCKET)
}

function unanswered(socketPath: string, cause: NodeJS.ErrnoException): Fault {
  const { code = cause.name } = cause
  if (code === 'EACCES' || code === 'EPERM')
    return new Fault('network_refused', `you may not ask the board, whose socket is root’s: run the command by sudo`)
  if (code === 'ENOENT' || code === 'ECONNREFUSED')
    return new Fault('no_board', `no board answers here (${socketPath}: ${code})`)
  return new Fault('network_refused', `the board did not say whether it took it (${code}): see plantroom logs board`)
}

function otherVersion(): Fault {
  return new Fault('network_refused', 'the board that runs is of another version: restart it, plantroom-board')
}

// Where there is no board.

/** What sets the network of other machines, and how it is told. */
const MANAGERS: Readonly<Record<string, string>> = {
  'systemd-networkd': 'systemd-networkd does here: a file below /etc/systemd/network, then networkctl reload',
  NetworkManager: 'NetworkManager does here: nmtui, or nmcli',
  networking: 'ifupdown does here: /etc/network/interfaces, then systemctl restart networking',
}

/** @returns the exit code */
async function sayWhereNoBoardIs(world: World, act: () => Promise<void>): Promise<number> {
  try {
    await act()
    return exitCodes.fine
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.code !== 'no_board') throw fault
    world.err(`plantroom: ${fault.message}.
Only a board that owns its machine proves a new address, and takes it back. Where this box is to be nothing else: machine.owned = true
in /etc/plantroom/board.toml, then systemctl enable --now plantroom-board. Otherwise the system sets the address:
${await managerOf(world)}.
`)
    return exitCodes.notRunning
  }
}

async function managerOf({ env }: World): Promise<string> {
  for (const [unit, how] of Object.entries(MANAGERS))
    try {
      await promisify(execFile)('systemctl', ['is-active', '--quiet', `${unit}.service`], { env, timeout: ANSWER_MS })
      return how
    } catch {
      // Not this one.
    }
  return 'a file below /etc/systemd/network, nmtui, or /etc/network/interfaces, by what the machine was installed with'
}
