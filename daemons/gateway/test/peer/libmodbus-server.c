/* A Modbus RTU server on libmodbus, the peer of modbus-peers.test.ts: libmodbus-server DEVICE UNIT.
 * A hundred coils, inputs and registers; register n holds 3 * n. Prints "ready" once it listens. */
#include <errno.h>
#include <modbus.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint8_t query[MODBUS_RTU_MAX_ADU_LENGTH];
    if (argc != 3) return 2;
    modbus_t *line = modbus_new_rtu(argv[1], 19200, 'N', 8, 1);
    modbus_mapping_t *map = modbus_mapping_new(100, 100, 100, 100);
    if (line == NULL || map == NULL) return 1;
    for (int at = 0; at < 100; at++) {
        map->tab_bits[at] = map->tab_input_bits[at] = at % 3 == 0;
        map->tab_registers[at] = map->tab_input_registers[at] = 3 * at;
    }
    if (modbus_set_slave(line, atoi(argv[2])) != 0 || modbus_connect(line) != 0) {
        fprintf(stderr, "%s\n", modbus_strerror(errno));
        return 1;
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        int length = modbus_receive(line, query);
        if (length > 0) modbus_reply(line, query, length, map);
        else if (length < 0 && errno != ETIMEDOUT && errno != EMBBADCRC) break;
    }
    modbus_mapping_free(map);
    modbus_free(line);
    return 0;
}
