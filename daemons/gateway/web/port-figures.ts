/** The six figures of a port: what matters on a Modbus line, and what matters on a raw one. */
import type { FigureFacts } from '#kit/web/figure.ts'
import { baudText, count, fixed, many, msText, UNKNOWN } from '#kit/web/numbers.ts'
import type { Counters, Port } from './api.ts'
import { quantile, type Unit } from './bus.ts'
import { loadsOf, ratesOf, type Sample, steady } from './rates.ts'

/** Figures of a port that is set up. */
export function portFigures(port: Port, samples: readonly Sample[], units: readonly Unit[]): FigureFacts[] {
  const isOpen = port.state === 'open'
  const loads = isOpen ? loadsOf(samples, port) : []
  const load: FigureFacts = {
    name: 'Line load',
    value: fixed(steady(loads), 0),
    unit: '%',
    note: port.line ? `of ${baudText(port.line.baud)} baud` : '',
    history: loads,
  }
  const counters: Counters = port.counters ?? {}
  const looks = isOpen ? samples : []
  const own = port.protocol === 'modbus-rtu' ? ofMode(port, counters, looks, units) : raw(counters, looks)
  const facts = driver(port, counters)
  return port.protocol === 'modbus-rtu'
    ? [load, ...own, checksums(port, counters, looks), facts.lost]
    : [load, ...own, facts.wrong, facts.lost]
}

/** Per second, of the sum of the counters `of`. */
function rate(
  samples: readonly Sample[],
  of: readonly string[],
  facts: { name: string; unit: string; note: string },
): FigureFacts {
  const history = ratesOf(samples, of)
  return { ...facts, value: fixed(steady(history), facts.unit === '/s' ? 1 : 0), history }
}

function raw(counters: Counters, samples: readonly Sample[]): FigureFacts[] {
  return [
    rate(samples, ['rxBytes'], { name: 'Received', unit: 'B/s', note: `${count(counters.rxBytes)} in all` }),
    rate(samples, ['txBytes'], { name: 'Sent', unit: 'B/s', note: `${count(counters.txBytes)} in all` }),
    rate(samples, ['rxFrames', 'txFrames'], {
      name: 'Frames',
      unit: '/s',
      note: `${count((counters.rxFrames ?? 0) + (counters.txFrames ?? 0))} in all`,
    }),
  ]
}

function ofMode(port: Port, counters: Counters, samples: readonly Sample[], units: readonly Unit[]): FigureFacts[] {
  const mode = String(port.settings?.mode ?? 'master')
  if (mode === 'slave') return slave(counters, samples)
  return mode === 'listen' ? listener(counters, samples, units) : modbus(counters, samples, units)
}

/** What a master wants of us, and how often it is refused. */
function slave(counters: Counters, samples: readonly Sample[]): FigureFacts[] {
  const exceptions: FigureFacts = {
    name: 'Exceptions',
    value: count(counters.exceptionAnswers),
    note: 'answered to the master',
  }
  if (isLately(samples, 'exceptionAnswers')) exceptions.lit = 'warn'
  return [
    rate(samples, ['asked'], { name: 'Asked', unit: '/s', note: `${count(counters.asked)} in all` }),
    rate(samples, ['answers'], { name: 'Answered', unit: '/s', note: `${count(counters.answers)} in all` }),
    exceptions,
  ]
}

/** What passes between another master and its units. */
function listener(counters: Counters, samples: readonly Sample[], units: readonly Unit[]): FigureFacts[] {
  const odd: FigureFacts = {
    name: 'Unknown frames',
    value: count(counters.unknownFrames),
    note: 'no function of Modbus',
  }
  if (isLately(samples, 'unknownFrames')) odd.lit = 'warn'
  return [
    rate(samples, ['rxFrames'], { name: 'Frames', unit: '/s', note: `${count(counters.rxFrames)} in all` }),
    replies(units),
    odd,
  ]
}

function replies(units: readonly Unit[]): FigureFacts {
  const times = units.flatMap((unit) => unit.history)
  const most = quantile(times, 0.99)
  return {
    name: 'Reply, middle',
    value: msText(quantile(times, 0.5)),
    unit: 'ms',
    note: most === null ? 'none for 1\u202fmin' : `99\u202f% within ${msText(most)}\u202fms`,
    history: times.slice(-30),
  }
}

function modbus(counters: Counters, samples: readonly Sample[], units: readonly Unit[]): FigureFacts[] {
  const misses = units.reduce((all, unit) => all + unit.misses, 0)
  const guilty = units.filter((unit) => unit.misses > 0)
  return [
    rate(samples, ['requests'], { name: 'Requests', unit: '/s', note: `${count(counters.requests)} in all` }),
    replies(units),
    {
      name: 'Timeouts',
      // The log hears of it before the counters are asked again.
      value: count(Math.max(counters.timeouts ?? 0, misses)),
      note:
        misses === 0
          ? 'none for 1\u202fmin'
          : `${misses} in 1\u202fmin${guilty.length === 1 ? `, unit ${guilty[0]?.unit}` : ''}`,
      lit: misses > 0 ? 'warn' : undefined,
    },
  ]
}

/** Counted since the line was set up, so lit by what came lately: a cable that was mended is not wrong for ever. */
function isLately(samples: readonly Sample[], name: string): boolean {
  return ratesOf(samples, [name]).some((rate) => rate > 0)
}

function checksums(port: Port, counters: Counters, samples: readonly Sample[]): FigureFacts {
  const wrong = counters.crcErrors ?? null
  return {
    name: 'Checksum errors',
    value: count(wrong),
    note: `of ${many(counters.rxFrames ?? 0, 'frame')}`,
    lit: wrong && (isLately(samples, 'crcErrors') || port.units?.noisy) ? 'warn' : undefined,
  }
}

/** What the driver counts; `n/a` where it does not count at all. */
function driver(port: Port, counters: Counters): { wrong: FigureFacts; lost: FigureFacts } {
  const facts = counters.driver
  const isOpen = port.state === 'open'
  const nothing = isOpen ? 'n/a' : UNKNOWN
  const note = isOpen ? 'not counted here' : ''
  const wrong = facts ? facts.frame + facts.parity : null
  const lost = facts ? facts.overrun + facts.buf_overrun : null
  return {
    wrong: {
      name: 'Framing errors',
      value: wrong === null ? nothing : count(wrong),
      note: wrong === null ? note : wrong > 0 ? 'look at baud and parity' : 'since it opened',
      lit: wrong ? 'warn' : undefined,
    },
    lost: {
      name: 'Bytes lost',
      value: lost === null ? nothing : count(lost),
      note: lost === null ? note : `of ${count(counters.rxBytes)}`,
      lit: lost ? 'fault' : undefined,
    },
  }
}
