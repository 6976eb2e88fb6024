/** Asks the helper that runs as root, over its socket: a connection for each request. */
import { connect } from 'node:net'
import { durationText } from '#kit/bytes/words.ts'
import { Fault } from '#kit/fault.ts'
import { askWithFd } from '#native/usbip/index.ts'
import type { RootHelper } from '../core/ports.ts'
import { type HelperVerb, helperLine, LONGEST_ANSWER, openHelperAnswer } from '../wire/helper-line.ts'

/** How the helper is reached. */
export interface RootHelperOptions {
  /** Its socket. */
  path: string
  /** Time for one answer. */
  timeoutMs: number
  /** Time for the answer to `install`, which lasts as long as the installer. */
  installMs: number
}

/** The helper of this machine, whether it is there or not. */
export function createRootHelper({ path, timeoutMs, installMs }: RootHelperOptions): RootHelper {
  async function lineOf(verb: HelperVerb, line: string, fd: number | undefined): Promise<string> {
    // Only the addon can send a descriptor, and it takes a thread of the pool for as long as it waits: not for `install`.
    if (fd === undefined) return askOnce(path, line, verb === 'install' ? installMs : timeoutMs)
    try {
      return await askWithFd(path, line, fd, { timeoutMs, mostBytes: LONGEST_ANSWER })
    } catch (cause) {
      throw absent(path, cause)
    }
  }
  return {
    ask: async (verb, args = [], fd) => openHelperAnswer(await lineOf(verb, helperLine(verb, args), fd)),
  }
}

/** Resolves with all that is answered, at most LONGEST_ANSWER characters. */
function askOnce(path: string, line: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path })
    let text = ''
    const late = setTimeout(() => fail(new Error(`no answer within ${durationText(timeoutMs)}`)), timeoutMs)
    function fail(cause: Error): void {
      clearTimeout(late)
      socket.destroy()
      reject(absent(path, cause))
    }
    function finish(): void {
      clearTimeout(late)
      socket.destroy()
      if (text === '') reject(absent(path, new Error('it hung up')))
      else resolve(text)
    }
    socket.setEncoding('latin1')
    socket.on('error', fail)
    socket.on('data', (more: string) => {
      text = (text + more).slice(0, LONGEST_ANSWER + 1)
      if (text.includes('\n') || text.length > LONGEST_ANSWER) finish()
    })
    socket.on('end', finish)
    socket.write(line)
  })
}

function absent(path: string, cause: unknown): Fault {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new Fault('helper_absent', `the helper that runs as root does not answer at ${path}: ${why}`, { cause })
}
