/** What a protocol has beside its actions, for the routes that only some protocols can serve. */
import { Fault } from '#kit/fault.ts'
import type { PointsFace } from './points-face.ts'
import type { RegistersFace } from './registers-face.ts'
import type { ScanFace } from './unit-scan.ts'
import type { UnitsFace } from './unit-view.ts'

/** Faces of an adapter; a protocol, or a mode of it, leaves out what it has not. */
export interface AdapterFaces {
  points?: PointsFace
  registers?: RegistersFace
  scan?: ScanFace
  units?: UnitsFace
}

/**
 * The face of a port's protocol.
 * @throws Fault `wrong_protocol` where it has none
 */
export function requireFace<Name extends keyof AdapterFaces>(
  { path, adapter }: { path: string; adapter: { readonly faces?: AdapterFaces } },
  name: Name,
): NonNullable<AdapterFaces[Name]> {
  const face = adapter.faces?.[name]
  if (face === undefined)
    throw new Fault('wrong_protocol', `${path} has no ${name}: its protocol, or its mode, has none.`)
  return face as NonNullable<AdapterFaces[Name]>
}
