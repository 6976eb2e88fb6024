/**
 * Traces one everyday request: the files of ours it passes, in the order in which it enters them. The built daemon runs
 * under V8's coverage, which reports the functions that ran; then the request is repeated with a mark at each of them.
 * What a timer runs that was set before the request, such as the next look at other boards, happens beside the request
 * and is left out, with all that follows from it. The walk ends with the answer: what comes after, such as counting it,
 * is not seen.
 *
 *     node scripts/bench/walk.ts [NAME ...] [--write]
 *
 * --write: put the walks into the chapters of docs/. Native code and other threads are not seen.
 */
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { connect } from 'node:net'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import WebSocket from 'ws'
import { systemClock, wait } from '#kit/clock.ts'
import { freePort } from '#kit/test/free-port.ts'
import type { Owner } from '#kit/test/running-daemon.ts'
import { openPty } from '#native/serial/index.ts'
import { startBoard } from '../../daemons/board/test/running-board.ts'
import { openRestSite } from '../../daemons/controller/test/rest-site.ts'
import { startGateway } from '../../daemons/gateway/test/running-gateway.ts'
import { simulateModbusLine } from '../sim/modbus-device.ts'
import { simulatedUnit } from '../sim/modbus-unit.ts'

/** A request to a running daemon, repeatable. */
interface Stage {
  output(): string
  request(): Promise<void>
}

interface Walk {
  title: string
  /** Chapter of docs/ that contains it. */
  chapter: string
  /** Most files: nobody could read a longer walk. */
  most: number
  /** @param within prefix of the command, so that the daemon can be inspected */
  open(t: Owner, within: string[]): Promise<Stage>
}

const root = dirname(dirname(import.meta.dirname))

const WALKS: Readonly<Record<string, Walk>> = {
  'modbus-read': {
    title: 'Registers of a unit are read over HTTP',
    chapter: 'gateway',
    most: 30,
    async open(t, within) {
      const gateway = await startGateway(t, { within })
      await gateway.setUp()
      const pty = openPty()
      t.teardown(() => pty.close())
      t.teardown(
        simulateModbusLine({ duplex: pty, clock: systemClock, units: [simulatedUnit({ unitId: 1, holding: [7] })] }),
      )
      await gateway.call('PUT', gateway.portPath(pty.path), {
        protocol: 'modbus-rtu',
        line: { baud: 115_200 },
        settings: {},
      })
      const body = { unitId: 1, fc: 3, address: 0, quantity: 1 }
      const request = () => gateway.call('POST', gateway.portPath(pty.path, '/rest/request'), body)
      return { output: gateway.output, request: async () => hold(await request(), 200) }
    },
  },
  'controller-command': {
    title: 'A zone is switched over the REST surface',
    chapter: 'controller',
    most: 28,
    async open(t, within) {
      const site = await openRestSite(t, { within: () => within })
      const token = await site.tokenOf('ada')
      const request = () => site.post('/api/control/command', { zone_id: 1, command: 'on' }, token)
      return { output: site.output, request: async () => hold(await request(), 200) }
    },
  },
  'board-settings': {
    title: 'A form of settings is saved',
    chapter: 'board',
    most: 30,
    async open(t, within) {
      const pty = openPty()
      t.teardown(() => pty.close())
      const sets = ['mdns.enabled=false', `serial.devices=${JSON.stringify([pty.path])}`]
      const board = await startBoard(t, { within, sets })
      const form = { port: '1', enabled: '1', mode: 'raw', tcp_port: String(await freePort()), baud: '115200' }
      return { output: board.output, request: async () => hold(await board.post('/api/serial', form), 200) }
    },
  },
  'line-to-tcp': {
    title: 'A byte of a serial line reaches a TCP client',
    chapter: 'board',
    most: 8,
    async open(t, within) {
      const pty = openPty()
      t.teardown(() => pty.close())
      const sets = ['mdns.enabled=false', `serial.devices=${JSON.stringify([pty.path])}`]
      const board = await startBoard(t, { within, sets })
      const tcpPort = await freePort()
      const settings = { port: '1', enabled: '1', mode: 'raw', tcp_port: String(tcpPort), baud: '115200' }
      hold(await board.post('/api/serial', settings), 200)
      const client = connect(tcpPort, '127.0.0.1')
      t.teardown(() => void client.destroy())
      await once(client, 'connect')
      const request = async () => {
        const heard = once(client, 'data')
        await pty.write(Buffer.from('x'))
        await heard
        // JavaScript is notified after the client.
        await wait(systemClock, 100)
      }
      return { output: board.output, request }
    },
  },
}

function hold({ status, body }: { status: number; body: unknown }, wanted: number): void {
  if (status !== wanted) throw new Error(`answered ${status}: ${JSON.stringify(body)}`)
}

/** Commands to V8 of a process that runs with --inspect. */
interface Inspector {
  ask<Answer>(method: string, params?: object): Promise<Answer>
  close(): void
}

async function openInspector(url: string): Promise<Inspector> {
  const socket = new WebSocket(url)
  await once(socket, 'open')
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let asked = 0
  socket.on('message', (text) => {
    const { id, result, error } = JSON.parse(String(text))
    const one = waiting.get(id)
    waiting.delete(id)
    if (error) one?.reject(new Error(error.message))
    else one?.resolve(result)
  })
  return {
    ask: (method, params = {}) =>
      new Promise((resolve, reject) => {
        waiting.set(++asked, { resolve: resolve as (value: unknown) => void, reject })
        socket.send(JSON.stringify({ id: asked, method, params }))
      }),
    close: () => socket.close(),
  }
}

interface Coverage {
  result: {
    scriptId: string
    url: string
    functions: { functionName: string; ranges: { startOffset: number; endOffset: number; count: number }[] }[]
  }[]
}

/** A function of ours that ran: its file, and its place in the bundle. */
interface Ran {
  file: string
  start: Place
  end: Place
}

interface Place {
  scriptId: string
  lineNumber: number
  columnNumber: number
}

async function functionsOf(v8: Inspector, during: () => Promise<void>): Promise<Ran[]> {
  await v8.ask('Profiler.takePreciseCoverage')
  await during()
  const { result } = await v8.ask<Coverage>('Profiler.takePreciseCoverage')
  return result.flatMap(({ scriptId, url, functions }) => {
    const path = url.startsWith('file:') ? fileURLToPath(url) : ''
    if (!existsSync(`${path}.map`)) return []
    const sources = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')))
    const placeAt = placesIn(scriptId, readFileSync(path, 'utf8'))
    return functions.flatMap(({ ranges: [range] }) => {
      if (!range || range.count === 0) return []
      const start = placeAt(range.startOffset)
      const entry = sources.findEntry(start.lineNumber, start.columnNumber)
      const file = 'originalSource' in entry ? relative(root, resolve(dirname(path), entry.originalSource)) : ''
      return /^(daemons|kit|native)\//.test(file) ? [{ file, start, end: placeAt(range.endOffset) }] : []
    })
  })
}

/** Converts an offset in a text to line and column. */
function placesIn(scriptId: string, text: string): (offset: number) => Place {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    const lineNumber = starts.findLastIndex((start) => start <= offset)
    return { scriptId, lineNumber, columnNumber: offset - (starts[lineNumber] ?? 0) }
  }
}

/** Files in the order in which the request enters them. */
async function filesOf(v8: Inspector, request: () => Promise<void>): Promise<string[]> {
  await v8.ask('Profiler.enable')
  await v8.ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  // One-time work for the first requests, such as compiling or connecting, is not part of an everyday request.
  for (let warm = 0; warm < 3; warm++) await request()
  const ran = await functionsOf(v8, request)
  await v8.ask('Debugger.enable')
  for (const [at, one] of ran.entries()) await mark(v8, one, at)
  await v8.ask('Runtime.evaluate', { expression: FOLLOW })
  await request()
  const { result } = await v8.ask<{ result: { value: number[] } }>('Runtime.evaluate', {
    expression: 'globalThis.walked',
    returnByValue: true,
  })
  return [...new Set(result.value.map((at) => ran[at]?.file ?? ''))]
}

/**
 * Begins to follow: until an answer is out, `globalThis.pass` records the marks that are passed, but for those that a
 * timer of before leads to. Async hooks tell what runs, and what it began.
 */
const FOLLOW = `{
  const { createHook, executionAsyncId, executionAsyncResource } = process.getBuiltinModule('node:async_hooks')
  const timers = new WeakSet()
  const apart = new Set()
  const isApart = () => {
    const running = executionAsyncResource()
    return (running?.constructor?.name === 'Timeout' && !timers.has(running)) || apart.has(executionAsyncId())
  }
  createHook({
    init(id, type, _trigger, resource) {
      if (isApart()) apart.add(id)
      else if (type === 'Timeout') timers.add(resource)
    },
  }).enable()
  globalThis.walked = []
  globalThis.pass = (at) => void (isApart() || globalThis.walked.push(at))
  // Node says so before it calls those who count answers.
  process.getBuiltinModule('node:diagnostics_channel').subscribe('http.server.response.finish', () => {
    globalThis.pass = undefined
  })
}`

/** Sets a breakpoint that never stops: its condition records that it was passed. */
async function mark(v8: Inspector, { start, end }: Ran, at: number): Promise<void> {
  const places = { start, end, restrictToFunction: true }
  const found = v8.ask<{ locations: object[] }>('Debugger.getPossibleBreakpoints', places)
  // Code that V8 has dropped meanwhile is no longer a script.
  const { locations } = await found.catch(() => ({ locations: [] }))
  const [location] = locations
  if (location === undefined) return
  const condition = `globalThis.pass?.(${at}), false`
  // Functions that begin at the same place share a mark.
  await v8.ask('Debugger.setBreakpoint', { location, condition }).catch(() => {})
}

async function walk({ open }: Walk): Promise<string[]> {
  const ends: (() => unknown)[] = []
  const owner: Owner = { teardown: (end: () => unknown) => void ends.unshift(end) } as Owner
  try {
    const within = ['env', 'NODE_OPTIONS=--inspect=127.0.0.1:0']
    const { output, request } = await open(owner, within)
    const url = /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/.exec(output())?.[0]
    if (url === undefined) throw new Error(`no inspector listens; it said:\n${output()}`)
    const v8 = await openInspector(url)
    ends.unshift(() => v8.close())
    return await filesOf(v8, request)
  } finally {
    for (const end of ends) await end()
  }
}

/** Writes the files into the chapter, between the markers of the walk. */
function writeDown(name: string, { chapter, title, most }: Walk, files: readonly string[]): void {
  const path = join(root, `docs/${chapter}.md`)
  const text = readFileSync(path, 'utf8')
  const part = new RegExp(`(<!-- walk: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`)
  if (!part.test(text)) throw new Error(`docs/${chapter}.md has no marks of the walk ${name}`)
  const lines = files.map((file, at) => `${at + 1}. \`${file}\``).join('\n')
  const count = `**${title}**: ${files.length} files${files.length > most ? `; it should be ${most} at most` : ''}.`
  writeFileSync(
    path,
    text.replace(part, (_, head, foot) => `${head}\n${count}\n\n${lines}\n\n${foot}`),
  )
}

const words = process.argv.slice(2)
const named = words.filter((word) => word !== '--write')
for (const name of named.length > 0 ? named : Object.keys(WALKS)) {
  const chosen = WALKS[name]
  if (chosen === undefined) throw new Error(`'${name}' is none of ${Object.keys(WALKS).join(', ')}`)
  const files = await walk(chosen)
  console.log([`${name}: ${files.length} files`, ...files.map((file) => `  ${file}`)].join('\n'))
  if (words.includes('--write')) writeDown(name, chosen, files)
}
