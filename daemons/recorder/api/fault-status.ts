/** The HTTP status of the recorder's own faults; docs/ERRORS.md says what to do about each. */

export const faultStatus: Readonly<Record<string, number>> = {
  bad_span: 400,
  bad_stream_url: 400,
  username_needed: 400,
  wrong_login: 401,
  export_needed: 403,
  wrong_password: 403,
  no_footage: 404,
  unknown_camera: 404,
  unknown_user: 404,
  already_set_up: 409,
  last_admin: 409,
  not_set_up: 409,
  own_password: 409,
  too_many_cameras: 409,
  too_many_users: 409,
  user_exists: 409,
  footage_gone: 410,
  too_many_streams: 429,
}
