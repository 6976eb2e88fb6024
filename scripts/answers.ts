/**
 * Extracts the daemons' API descriptions operation by operation; tests check real requests and answers against them.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formDialect } from '#kit/http/dialect.ts'
import { type DescribedAnswers, openApiOf, type SharedSchemas } from '#kit/http/kit-routes.ts'
import { describedOf } from './doc-facts.ts'

/** @returns every operation of a daemon, without sockets */
export async function answersOf(
  root: string,
  daemon: string,
): Promise<{ operations: DescribedAnswers[]; shared: SharedSchemas }> {
  const routes = (await describedOf(root, daemon)).filter(({ method }) => method !== undefined)
  const isBoard = daemon === 'board'
  let shared: SharedSchemas = {}
  const operations = routes.flatMap((route) => {
    const whole = openApiOf({ title: daemon, version: '', routes: [route], ...(isBoard && { dialect }) }) as Whole
    shared = whole.components.schemas
    return Object.entries(whole.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { requestBody, responses }]) => ({
        ...{ method: method.toUpperCase(), path, responses },
        ...(requestBody && { requestBody }),
      })),
    )
  })
  return { operations, shared }
}

/** A board takes forms; user and limits do not affect the description. */
const dialect = formDialect({ user: '', realm: () => '', maxFields: 1 })

interface Whole {
  paths: Record<string, Record<string, Pick<DescribedAnswers, 'requestBody' | 'responses'>>>
  components: { schemas: SharedSchemas }
}

/** Writes them to `build/answers/<daemon>.json`. */
export async function writeAnswers(root: string, daemons: readonly string[]): Promise<void> {
  const folder = join(root, 'build/answers')
  mkdirSync(folder, { recursive: true })
  for (const daemon of daemons)
    writeFileSync(join(folder, `${daemon}.json`), JSON.stringify(await answersOf(root, daemon)))
}
