/** A daemon as a process: start, signals, exit codes, lock, and what systemd hears. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, t } from 'tap'
import { builtProgram } from '../built-program.ts'

const program = builtProgram(t, fileURLToPath(new URL('small-daemon.ts', import.meta.url)))
/** Compiled once, with a compile cache: starting is most of the time of these tests. */
const compiled = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' }

interface Started {
  child: ChildProcess
  /** Resolves when a line matches; rejects when the process ends before. */
  line(pattern: RegExp): Promise<RegExpMatchArray>
  ended: Promise<{ code: number | null; signal: string | null; out: string; err: string }>
}

function start(t: Test, args: string[], env: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, [program, ...args], { env: { ...compiled, ...env } })
  t.teardown(() => child.kill('SIGKILL'))
  let out = ''
  let err = ''
  const onText: (() => void)[] = []
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
    for (const look of onText) look()
  })
  const ended = new Promise<Awaited<Started['ended']>>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, out, err }))
  })
  function line(pattern: RegExp): Promise<RegExpMatchArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(err)
        if (match) resolve(match)
      }
      onText.push(look)
      look()
      void ended.then(() => reject(new Error(`ended without ${pattern}: ${err}`)))
    })
  }
  return { child, line, ended }
}

const run = (t: Test, args: string[], env?: Record<string, string>) => start(t, args, env).ended
const usual = (t: Test) => ['--state', join(t.testdir(), 'state'), '--listen', '127.0.0.1:0']
const trouble = (name: string) => ['--set', `small.trouble=${name}`]

t.test('prints help and version', async (t) => {
  t.match(await run(t, ['--help']), { code: 0, out: /plantroom small - A small daemon.*--config FILE/s })
  t.match(await run(t, ['--version']), { code: 0, out: /^\d+\.\d+\.\d+\n$/ })
})

t.test('ends with 2 for wrong usage and refused settings, and lists every fault', async (t) => {
  t.match(await run(t, ['--lsten', 'x']), { code: 2, err: /^plantroom small: Unknown option '--lsten'/ })
  t.match(await run(t, ['extra']), { code: 2, err: /extra/ })
  t.match(await run(t, ['--set', 'log.levle=info', '--listen', 'x']), {
    code: 2,
    err: /^plantroom small: log\.levle .*log\.level\nplantroom small: http\.listen .*\n$/,
  })
  t.match(await run(t, ['--config', '/nowhere.toml']), { code: 2, err: /\/nowhere\.toml: there is no such file/ })
})

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  t.test(`says where it listens, and ends with 0 on ${signal}`, async (t) => {
    const small = start(t, usual(t))
    await small.line(/notice {2}listening url=http:\/\/127\.0\.0\.1:\d+\n/)
    small.child.kill(signal)
    t.match(await small.ended, { code: 0, err: /stopped daemon=small code=0\n$/ })
  })

t.test('ends with 1 and one sentence when a part does not start', async (t) => {
  t.match(await run(t, [...usual(t), ...trouble('start')]), { code: 1, err: /\nplantroom small: the line is cut\n$/ })
})

t.test('ends with 1 when a promise it owns is rejected', async (t) => {
  t.match(await run(t, [...usual(t), ...trouble('part')]), { code: 1, err: /error {3}a part failed fault=.*it broke/ })
})

t.test('stops its parts and ends with 70 when nobody catches an error', async (t) => {
  const ended = await run(t, [...usual(t), ...trouble('throw')])
  t.match(ended, {
    code: 70,
    err: /error {3}nobody caught an error fault=.*fault_stack=.*stopped daemon=small code=70/s,
  })
})

t.test('does not wait for a part that does not stop in time', async (t) => {
  const small = start(t, [...usual(t), ...trouble('stop')])
  await small.line(/listening/)
  small.child.kill('SIGTERM')
  t.match(await small.ended, { code: 0, err: /warning part did not stop part=trouble/ })
})

t.test('ends at once with 1 on the second signal', async (t) => {
  const small = start(t, [...usual(t), ...trouble('hang')])
  await small.line(/listening/)
  small.child.kill('SIGTERM')
  await small.line(/told to stop by SIGTERM/)
  small.child.kill('SIGTERM')
  t.match(await small.ended, { code: 1 })
})

t.test('refuses a state folder that another one uses, and takes it once that one has been killed', async (t) => {
  const args = usual(t)
  const first = start(t, args)
  await first.line(/listening/)
  t.match(await run(t, args), { code: 1, err: /is in use by a daemon that runs: stop that one first\n$/ })
  first.child.kill('SIGKILL')
  await first.ended
  const second = start(t, args)
  await second.line(/listening/)
  second.child.kill('SIGTERM')
  t.match(await second.ended, { code: 0 })
})

t.test('uses the state folder given by systemd', async (t) => {
  const folder = join(t.testdir(), 'named')
  const small = start(t, ['--listen', '127.0.0.1:0'], { STATE_DIRECTORY: `${folder}:/other` })
  await small.line(new RegExp(`state=${folder} `))
  small.child.kill('SIGTERM')
  await small.ended
})

t.test('keeps the socket of systemd from its children', async (t) => {
  const small = start(t, [...usual(t), ...trouble('child')], { NOTIFY_SOCKET: '/nowhere/notify' })
  await small.line(/seen NOTIFY_SOCKET=nothing/)
  small.child.kill('SIGTERM')
  await small.ended
})

t.test('lists its commands in its help, and each command has its own help', async (t) => {
  t.match(await run(t, ['--help']), { code: 0, out: /--import FILE.*Instead of running.*plantroom small tell WORD/s })
  t.match(await run(t, ['tell', '--help']), {
    code: 0,
    out: /^plantroom small tell WORD \[--loud\]\n.*--loud.*--state DIR/s,
  })
})

t.test(
  'runs a command instead of the daemon, with its settings, and ends with the exit code of the command',
  async (t) => {
    const args = ['tell', 'hello', '--loud', '--state', '/some/where', ...trouble('none')]
    t.match(await run(t, args), { code: 1, out: 'HELLO none /some/where\n', err: '' })
  },
)

t.test('ends with 2 for unknown commands, extra arguments, and arguments that a command refuses', async (t) => {
  t.match(await run(t, ['tel', 'x']), { code: 2, err: /there is no command "tel"; did you mean tell\?/ })
  t.match(await run(t, ['tell']), { code: 2, err: /expected: plantroom small tell WORD \[--loud\]\n$/ })
  t.match(await run(t, ['tell', 'x', '--listen', 'y']), { code: 2, err: /Unknown option '--listen'/ })
  t.match(await run(t, ['tell', 'x', '--set', 'small.troble=y']), { code: 2, err: /small\.trouble/ })
  t.match(await run(t, ['tell', 'wrong']), {
    code: 2,
    err: 'plantroom small: two faults\nplantroom small: a[1].b: is bad\nplantroom small: is late\nplantroom small: and 3 more\n',
  })
})

t.test('passes on the file that --import names', async (t) => {
  const small = start(t, [...usual(t), '--import', 'some/site.json'])
  await small.line(new RegExp(`would import file=${process.cwd()}/some/site\\.json\n`))
  small.child.kill('SIGTERM')
  t.match(await small.ended, { code: 0 })
})
