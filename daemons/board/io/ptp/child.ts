/** A program that runs beside the daemon, and never longer than it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** One that runs. */
export interface Child {
  /** Writes to its standard input; what it does not take is lost. */
  write(text: string): void
  /** Asks it to end, and kills it where it does not within `KILL_MS`. Resolves once it has ended. */
  end(): Promise<void>
}

export interface ChildOptions {
  /** Memory that it may have; what it asks for beyond, it does not get. */
  memoryBytes: number
  /** What it prints on standard output, as it comes. */
  onText?(text: string): void
  /** A line of its log: standard error, and standard output where nobody else reads that. */
  onLine?(line: string): void
  /** Once, by itself or because it was asked to. @param how for people: `ended with 1`, `was ended by SIGKILL`, ... */
  onEnd(how: string): void
}

const KILL_MS = 1000
const LONGEST_LINE = 300

/** Those of the environment, and those of the system's own programs. */
function programFolders(): string[] {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders, '/usr/sbin', '/sbin', '/usr/local/sbin']
}

/** @returns the program's path; undefined where it is not on this machine */
export function findProgram(name: string, folders: readonly string[] = programFolders()): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Starts a program that the kernel kills when this process dies, however it dies, and that has no more than its memory.
 * Both are asked for by util-linux (setpriv, prlimit), as Node cannot; where that is not there it runs without. As the main
 * process of a unit the former is left to systemd, which ends what is left of a unit, and whose rules setpriv breaks (capset).
 */
export function startChild(program: string, words: readonly string[], options: ChildOptions): Child {
  const before = [
    ['prlimit', `--data=${options.memoryBytes}`, '--'],
    ['setpriv', '--pdeathsig', 'KILL', '--'],
  ].filter(([keeper = '']) => findProgram(keeper) !== undefined && !(keeper === 'setpriv' && isUnit()))
  const [command = program, ...all] = [...before.flat(), program, ...words]
  const child = spawn(command, all, { stdio: ['pipe', 'pipe', 'pipe'] })
  const { onLine = () => {}, onText } = options
  child.stderr.setEncoding('utf8').on('data', linesOf(onLine))
  child.stdout.setEncoding('utf8').on('data', onText ?? linesOf(onLine))
  // A pipe whose reader is gone: its end is told by `exit`.
  child.stdin.on('error', () => {})
  const ended = endOf(child, options.onEnd)
  return {
    write: (text) => void (child.stdin.writable && child.stdin.write(text)),
    end: () => endNow(child, ended),
  }
}

/** @source systemd.exec(5), SYSTEMD_EXEC_PID: of whoever inherits the variable the number is another */
function isUnit(): boolean {
  return process.env.SYSTEMD_EXEC_PID === String(process.pid)
}

function endOf(child: ChildProcess, onEnd: (how: string) => void): Promise<void> {
  return new Promise((resolve) => {
    function end(how: string): void {
      resolve()
      onEnd(how)
    }
    child.once('exit', (code, signal) => end(code === null ? `was ended by ${signal}` : `ended with ${code}`))
    child.once('error', (cause) => {
      // Of a child that runs, such as a signal that it may not be sent, `exit` comes later.
      if (child.pid === undefined) end(`could not be run: ${cause.message}`)
    })
  })
}

async function endNow(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), KILL_MS)
  await ended
  clearTimeout(late)
}

/** @returns what cuts text into lines, each at most `LONGEST_LINE` long */
function linesOf(onLine: (line: string) => void): (text: string) => void {
  let rest = ''
  return (text) => {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(0, LONGEST_LINE)
    for (const line of lines) if (line.trim() !== '') onLine(line.trim().slice(0, LONGEST_LINE))
  }
}
