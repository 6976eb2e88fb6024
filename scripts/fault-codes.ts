/**
 * Faults whose code is not a literal where they are made: lists the possible codes, so that docs/ERRORS.md can be
 * checked.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** By file: the codes it chooses from; none if it only passes on codes of another fault. */
export const CODES_OF_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  'daemons/board/roles/encoder/io/gst-feeds.ts': ['input_failed', 'sender_failed'],
  'daemons/gateway/core/lines/port-registry.ts': [],
  'daemons/gateway/core/bus/faults.ts': [],
  'daemons/gateway/core/mstp/mstp.ts': [],
  'daemons/gateway/io/mstp-lines.ts': [],
  'daemons/gateway/io/state-files.ts': [],
  'daemons/gateway/io/webhook-courier.ts': [],
  'daemons/gateway/wire/modbus-reply.ts': [
    ...['modbus_crc', 'modbus_wrong_unit', 'modbus_wrong_function', 'modbus_short', 'modbus_long'],
    ...['modbus_mismatch', 'modbus_malformed'],
  ],
  'kit/pure/fault.ts': [],
  'kit/pure/line.ts': [],
}

/** First argument of a fault, up to its comma. */
const FIRST = /\bnew Fault\(\s*((?:`[^`]*`|'[^']*'|[^,()'`]|\([^()]*\))*),/g
/** A literal, or a choice of two. */
const WRITTEN = /^(?:[^?]+\?\s*'[a-z0-9_]+'\s*:\s*)?'[a-z0-9_]+'$/

/** Files with such a fault that are not in the table, and entries of the table that are not needed. */
export function variableCodeFaults(root: string): string[] {
  return globSync('{daemons,kit,native,scripts}/**/*.ts', { cwd: root })
    .filter((file) => !/(^|\/)(node_modules|test)\//.test(file))
    .sort()
    .flatMap((file) => {
      const firsts = [...readFileSync(join(root, file), 'utf8').matchAll(FIRST)].map(([, first]) =>
        (first ?? '').trim(),
      )
      const variable = firsts.find((first) => !WRITTEN.test(first))
      const isListed = file in CODES_OF_VARIABLES
      if (variable !== undefined && !isListed)
        return [`${file}: the code of a fault is ${variable}: say in scripts/fault-codes.ts which codes it makes`]
      return variable === undefined && isListed ? [`scripts/fault-codes.ts names ${file}, which writes its codes`] : []
    })
}
