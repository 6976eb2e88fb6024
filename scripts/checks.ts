/** Runs the checks that are not tests: format, types, layers, shape, docs, dead code, scripts, lock. */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'

/** Result of one check. `output` is what it printed, both streams in order. */
export interface CheckResult {
  name: string
  ok: boolean
  output: string
  ms: number
}

/** Seconds for one check; only a hanging one takes as long, unless ten share the machine. */
const CHECK_S = 300

/** Runs all of them, two at a time, in the order of the list. `root` is the checkout. */
export async function runChecks(root: string): Promise<CheckResult[]> {
  const waiting = checksOf(root)
  const results: CheckResult[] = []
  async function work(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) results.push(await runCheck(root, next))
  }
  await Promise.all([work(), work()])
  return results
}

/**
 * Ignores tests: an export or file that only they use is dead code too. One that a test needs, such as the other half
 * of a codec, is marked with `@internal` and the reason.
 */
export const ONLY_TESTS = ['--no-progress', '--production', '--include', 'exports,types,files']

interface Check {
  name: string
  file: string
  args: string[]
  env?: NodeJS.ProcessEnv
}

/**
 * One checker: by default four share the files, and each checks anew what all of them import, which on two cores only
 * costs. It collects its garbage half as often, and still takes less memory than four.
 */
const TYPES = { args: ['-p', '.', '--pretty', 'false', '--checkers', '1'], env: { GOGC: '400' } }

function checksOf(root: string): Check[] {
  const bin = (path: string) => join(root, 'node_modules', path)
  const script = (name: string) => ({ name, file: process.execPath, args: [join(root, `scripts/check-${name}.ts`)] })
  const shellScripts = globSync('{scripts,.ci}/**/{*.sh,run}', { cwd: root })
  return [
    { name: 'dead code', file: process.execPath, args: [bin('knip/bin/knip.js'), '--no-progress'] },
    { name: 'what only tests use', file: process.execPath, args: [bin('knip/bin/knip.js'), ...ONLY_TESTS] },
    { name: 'format and lint', file: bin('.bin/biome'), args: ['check', '--error-on-warnings', '--colors=off'] },
    { name: 'types', file: bin('.bin/tsc'), ...TYPES },
    script('layers'),
    script('shape'),
    script('docs'),
    { name: 'lock', file: process.execPath, args: [join(root, 'scripts/complete-lock.ts')] },
    ...shellScripts.map((path) => ({ name: `sh -n ${path}`, file: 'bash', args: ['-n', path] })),
  ]
}

function runCheck(root: string, { name, file, args, env: own }: Check): Promise<CheckResult> {
  const started = performance.now()
  return new Promise((resolve) => {
    // Knip's loader would leave a folder in /tmp.
    const env = { ...process.env, JITI_FS_CACHE: 'false', ...own }
    const child = spawn(file, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: CHECK_S * 1000 })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    const done = (ok: boolean) => resolve({ name, ok, output, ms: performance.now() - started })
    child.on('error', (error) => {
      output += error.message
      done(false)
    })
    child.on('close', (code, signal) => {
      if (signal) output += `ended by ${signal}; it has ${CHECK_S} s\n`
      done(code === 0)
    })
  })
}
