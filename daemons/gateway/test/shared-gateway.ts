/** One gateway for several tests of a file: to start and set one up takes more than most of them do. */
import t from 'tap'
import { openPty, type Pty } from '#native/serial/index.ts'
import { type RunningGateway, startGateway } from './running-gateway.ts'

const started = new Map<string, Promise<RunningGateway>>()

/** The one with these settings, set up; ended with the file. Lines of a test are opened by `openPort`, and go with it. */
export function sharedGateway(sets: string[] = []): Promise<RunningGateway> {
  const name = sets.join('\n')
  const known = started.get(name)
  if (known !== undefined) return known
  const gateway = start(sets)
  started.set(name, gateway)
  // The next file may be read by this process too.
  t.teardown(() => started.delete(name))
  return gateway
}

/**
 * A line of no other test. It is open to the end of the file: what a unit may still say on a line is remembered by its name,
 * beyond the port, and the number of a pty that is closed goes to the next one.
 */
export function ptyOfFile(): Pty {
  const pty = openPty()
  t.teardown(() => pty.close())
  return pty
}

async function start(sets: string[]): Promise<RunningGateway> {
  const gateway = await startGateway(t, { sets })
  await gateway.setUp()
  return gateway
}
