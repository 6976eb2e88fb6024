/** The log of a daemon: one line per event, `event key=value ...`, levels by what the reader must do. */
import { fstatSync } from 'node:fs'
import pino from 'pino'
import { Fault } from './pure/fault.ts'
import { escapeControls } from './pure/text.ts'

/** error: act now. warning: look soon. notice: life of the daemon. info: by request. debug: bytes. */
export type LogLevel = 'error' | 'warning' | 'notice' | 'info' | 'debug'

/** The log that every part writes to. Facts are plain values; an Error becomes its code and message. */
export interface Log {
  error(event: string, facts?: Record<string, unknown>): void
  warning(event: string, facts?: Record<string, unknown>): void
  notice(event: string, facts?: Record<string, unknown>): void
  info(event: string, facts?: Record<string, unknown>): void
  debug(event: string, facts?: Record<string, unknown>): void
  /** A log that adds these facts to each of its lines. */
  child(facts: Record<string, unknown>): Log
}

/** Destination of lines; `write` gets whole lines with their newline. */
export interface LogStream {
  write(line: string): unknown
}

/** How a log is made. */
export interface LogOptions {
  level: LogLevel
  /** Default: standard error, so that standard output stays free for a command's results. */
  stream?: LogStream
  /** Lines begin with `<3>`..`<7>` instead of a time. Default: true if standard error is the journal. */
  journal?: boolean
}

/** pino's numbers rise with urgency; the journal's fall. */
const LEVELS: Record<LogLevel, number> = { debug: 20, info: 30, notice: 35, warning: 40, error: 50 }
const PRIORITIES: Record<LogLevel, number> = { error: 3, warning: 4, notice: 5, info: 6, debug: 7 }

/** Facts with these names are never logged, nor one level down. */
const SECRETS = ['password', 'passwordHash', 'secret', 'token', 'ticket', 'authorization', 'cookie', 'key']

/** Longest text of one fact; payloads do not belong in a log line. */
const LONGEST_TEXT = 1024

/** Creates the log of a process. Writing is synchronous, so the last line before an exit is not lost. */
export function createLog(options: LogOptions): Log {
  const journal = options.journal ?? (options.stream === undefined && isJournal(2))
  const stream = options.stream ?? standardError()
  const base = pino(
    {
      level: options.level,
      customLevels: LEVELS,
      useOnlyCustomLevels: true,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      nestedKey: 'facts',
      redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '***' },
    },
    { write: (json: string) => void stream.write(`${lineOf(json, journal)}\n`) },
  )
  return logOver(base, {})
}

/** A log that discards everything, for tests and for commands with nothing to report. */
export const silentLog: Log = {
  error() {},
  warning() {},
  notice() {},
  info() {},
  debug() {},
  child: () => silentLog,
}

type Base = pino.Logger<LogLevel, true>

function logOver(base: Base, own: Record<string, unknown>): Log {
  function write(level: LogLevel, event: string, facts: Record<string, unknown>): void {
    if (base.isLevelEnabled(level)) base[level](plainFacts({ ...own, ...facts }), event)
  }
  return {
    error: (event, facts = {}) => write('error', event, facts),
    warning: (event, facts = {}) => write('warning', event, facts),
    notice: (event, facts = {}) => write('notice', event, facts),
    info: (event, facts = {}) => write('info', event, facts),
    debug: (event, facts = {}) => write('debug', event, facts),
    child: (facts) => logOver(base, { ...own, ...facts }),
  }
}

/** JSON turns an Error into {} and refuses a bigint: both become text here. */
function plainFacts(facts: Record<string, unknown>): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined) continue
    if (value instanceof Error) {
      plain[name] = sentenceOf(value)
      // A Fault was thrown on purpose and needs no stack; anything else is our mistake to find.
      if (!(value instanceof Fault) && value.stack !== undefined)
        plain[`${name}_stack`] = value.stack.replace(/^.*?\n\s*/, '')
    } else plain[name] = typeof value === 'bigint' ? String(value) : value
  }
  return plain
}

/** The message of an error with its code, followed by those of its causes. */
function sentenceOf(error: Error): string {
  const parts: string[] = []
  // Five deep at most: a chain of causes may loop.
  for (let at: unknown = error; at !== undefined && parts.length < 5; at = at instanceof Error ? at.cause : undefined) {
    if (at instanceof Fault) parts.push(`${at.code}: ${at.message}`)
    else parts.push(at instanceof Error ? at.message : String(at))
  }
  return parts.join(' <- ')
}

function lineOf(json: string, journal: boolean): string {
  const { level, time, msg, facts } = JSON.parse(json) as {
    level: LogLevel
    time: string
    msg: string
    facts?: Record<string, unknown>
  }
  let line = journal ? `<${PRIORITIES[level]}>` : `${time} ${level.padEnd(7)} `
  line += wordsOf(msg)
  for (const [name, value] of Object.entries(facts ?? {})) line += ` ${name}=${factText(value)}`
  return line
}

/** An event's name with line breaks escaped, which would forge lines. */
function wordsOf(event: string): string {
  return escapeControls(withoutSecrets(event))
}

/** A value as one word, or in quotes if a space, quote or `=` would make it ambiguous. */
function factText(value: unknown): string {
  const whole = withoutSecrets(typeof value === 'string' ? value : JSON.stringify(value))
  const text = whole.length > LONGEST_TEXT ? `${whole.slice(0, LONGEST_TEXT)}...(${whole.length} characters)` : whole
  if (typeof value !== 'string') return escapeControls(text)
  const isWord = text !== '' && !/[\s"=\\]/.test(text)
  return escapeControls(isWord ? text : JSON.stringify(text))
}

/** Removes credentials inside URLs and headers: `//user:password@host` and `?ticket=...`. */
function withoutSecrets(text: string): string {
  const plain = text.includes('//') && text.includes('@') ? text.replace(/[^\s"]+/g, withoutUserinfo) : text
  return plain
    .replace(/([?&](?:ticket|token|secret|password|key)=)[^&\s"]+/gi, '$1***')
    .replace(/\b(Bearer|Basic)\s+[^\s"]+/g, '$1 ***')
}

/** People write `@` and `/` into passwords as they are: all up to the last `@` of the word goes. */
function withoutUserinfo(word: string): string {
  const start = word.indexOf('//')
  const end = word.lastIndexOf('@')
  return start >= 0 && end > start ? `${word.slice(0, start)}//***${word.slice(end)}` : word
}

function standardError(): LogStream {
  const destination = pino.destination({ dest: 2, sync: true })
  // A reader that went away (EPIPE) must not end the daemon; there is nowhere left to report it.
  destination.on('error', () => {})
  return destination
}

/**
 * Whether a descriptor is the journal. The variable alone is not enough: children whose output goes elsewhere inherit
 * it.
 * @source systemd.exec(5), $JOURNAL_STREAM
 */
export function isJournal(fd: number): boolean {
  const stream = process.env.JOURNAL_STREAM
  if (stream === undefined) return false
  const { dev, ino } = fstatSync(fd)
  return stream === `${dev}:${ino}`
}
