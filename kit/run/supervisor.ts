/** What systemd is told of a daemon: ready, stopping, its status, and that its event loop turns. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'

/** How a daemon is watched. */
export interface SupervisorOptions {
  clock: Clock
  log: Log
  /** Sends one state text; false when nobody listens; throws where the socket refuses. */
  notify: (state: string) => boolean
  /** WATCHDOG_USEC and WATCHDOG_PID are read from here. */
  env: NodeJS.ProcessEnv
  pid: number
  /** One line for `systemctl status`. */
  status: () => string
  /** Whether pings go out; a daemon that knows it is stuck says false and is restarted. */
  isHealthy: () => boolean
}

/** Tells systemd how a daemon is. */
export interface Supervisor {
  ready(): void
  stopping(): void
  /** Before the process begins anew: it is away and will say ready again, which systemd waits for as at a start. */
  restarting(): void
}

/** The status line is looked at this often when there is no watchdog that asks for more. */
const STATUS_PERIOD_MS = 10_000

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { clock, log } = options
  const watchdogMs = watchdogOf(options.env, options.pid)
  let lastStatus = ''
  let timers: Timer[] = []
  let isRefused = false

  /** A socket that refuses is told once: without its pings systemd restarts the daemon, which is what is done about it. */
  function notify(state: string): void {
    try {
      options.notify(state)
      isRefused = false
    } catch (fault) {
      if (!isRefused) log.warning('systemd does not take our state', { fault })
      isRefused = true
    }
  }

  function sendStatus(): void {
    // One line by protocol: a line break would begin another assignment.
    const status = options.status().replaceAll(/[\r\n]+/g, ' ')
    if (status !== lastStatus) notify(`STATUS=${status}`)
    lastStatus = status
  }

  function last(state: string): void {
    for (const timer of timers) timer.cancel()
    timers = []
    notify(state)
  }

  return {
    ready() {
      notify('READY=1')
      sendStatus()
      timers = [clock.every(STATUS_PERIOD_MS, sendStatus)]
      if (watchdogMs === undefined) return
      // A timer runs only while the event loop turns: a loop that hangs stops the pings by itself.
      timers.push(
        clock.every(watchdogMs / 2, () => {
          if (options.isHealthy()) notify('WATCHDOG=1')
        }),
      )
    },
    stopping: () => last('STOPPING=1\nSTATUS=stopping'),
    restarting: () =>
      last(`RELOADING=1\nMONOTONIC_USEC=${Math.floor(clock.monotonicMs() * 1000)}\nSTATUS=starting anew`),
  }
}

/** The period systemd waits for pings, undefined when it does not. @source sd_watchdog_enabled(3) */
function watchdogOf(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  const periodUs = Number(env.WATCHDOG_USEC)
  if (!Number.isSafeInteger(periodUs) || periodUs <= 0) return undefined
  if (env.WATCHDOG_PID !== undefined && Number(env.WATCHDOG_PID) !== pid) return undefined
  return Math.max(2, periodUs / 1000)
}
