/** What reading rows needs to know of the registry of tables. */
import type { Json } from '../row.ts'
import type { ColumnType, Table } from '../schema/column.ts'
import { isJsonSecret, isReadable, isSecretColumn, tables } from '../schema/registry.ts'
import { isSensitiveName, withoutSecrets } from '../sensitive-name.ts'

export interface ColumnFace {
  readonly name: string
  readonly type: ColumnType
  /** Null in every answer, for everyone. */
  readonly isSecret: boolean
  /** JSON in which secrets are null in every answer, for everyone. */
  readonly isJsonSecret: boolean
}

export interface TableFace {
  readonly name: string
  /** In the order in which an answer shows them; `id` among them. A Map: names are asked for from outside. */
  readonly columns: ReadonlyMap<string, ColumnFace>
  /** On the list of what non-elevated sessions may read. @source document 1, Guards 1 */
  readonly isReadable: boolean
  /** Not in memory: read through `DataWorld.history`, never through the book. */
  readonly isHistory: boolean
}

/** The registry, as far as answers are concerned. */
export interface SchemaFace {
  /** @param name from outside; exactly as registered, else undefined */
  table(name: string): TableFace | undefined
  /** Whether document 1 lists this name as secret-bearing, or by its ending. @source document 1, Secret-bearing columns */
  isSecretName(column: string): boolean
  /** Whether a name (of an attribute, of a key in JSON) says that a secret stands there. */
  isSensitiveName(name: string): boolean
  /** The same JSON with null at every key with a sensitive name, at every depth. */
  withoutSecrets(json: Json): Json
}

/** The registry as queries see it. */
export function registryFace(): SchemaFace {
  const faces = new Map(tables().map((table) => [table.name, faceOf(table)]))
  return {
    table: (name) => faces.get(name),
    // A name that no table has is judged by itself.
    isSecretName: (column) => isSecretColumn('', column),
    isSensitiveName,
    withoutSecrets,
  }
}

function faceOf({ name, keeping, columns }: Table): TableFace {
  const faces = columns.map((column) => ({
    name: column.name,
    type: column.type,
    isSecret: isSecretColumn(name, column.name),
    isJsonSecret: isJsonSecret(name, column.name),
  }))
  return {
    name,
    columns: new Map(faces.map((face) => [face.name, face])),
    isReadable: isReadable(name),
    isHistory: keeping === 'audit' || keeping === 'inner',
  }
}
