/** Templates as files beside the bundle: read when somebody asks, and kept for a moment. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { createReader } from '#kit/http/check.ts'
import { badPoints, pointFaults } from '../core/point-check.ts'
import { type PointTemplate, pointTemplate, type TemplateLibrary } from '../core/point-template.ts'

const readTemplate = createReader(pointTemplate)

/** To read and check them takes 15 ms of the thread of the lines; whoever asks again so soon gets the same. */
const KEPT_MS = 10_000

/** @param folder one `<id>.json` for each device */
export function createTemplateFiles(folder: string, clock: Pick<Clock, 'after'>): TemplateLibrary {
  let kept: Promise<readonly PointTemplate[]> | undefined
  return {
    list() {
      if (kept === undefined) {
        kept = readAll(folder)
        clock.after(KEPT_MS, () => {
          kept = undefined
        })
      }
      return kept
    },
  }
}

async function readAll(folder: string): Promise<PointTemplate[]> {
  const names = await readdir(folder).catch((cause) => {
    throw new Fault('template_damaged', `The templates in ${folder} cannot be read.`, { cause })
  })
  const files = names.filter((name) => name.endsWith('.json'))
  const templates = await Promise.all(files.map((name) => readOne(join(folder, name), name)))
  return templates.sort((a, b) => `${a.maker} ${a.model}`.localeCompare(`${b.maker} ${b.model}`, 'en'))
}

/** Everything that a route checks of points is checked here too: a template's points go straight to a line. */
async function readOne(path: string, name: string): Promise<PointTemplate> {
  try {
    const template = readTemplate(JSON.parse(await readFile(path, 'utf8')))
    const faults = pointFaults(template.points)
    if (faults.length > 0) throw badPoints(faults)
    if (name !== `${template.id}.json`)
      throw new Fault('bad_fields', `id is ${template.id}, expected the name of its file`)
    return template
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'it cannot be read'
    throw new Fault('template_damaged', `The template ${name} is damaged: ${why}`, { cause })
  }
}
