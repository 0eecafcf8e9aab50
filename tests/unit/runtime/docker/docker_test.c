/*
 * The Docker back end against an engine that the tests play.
 */
#include "base/json.h"
#include "unit/runtime/docker/docker_fixture.h"

int main(void)
{
    json_setup();
    return docker_engine_tests() + docker_container_tests() + docker_start_tests() +
           docker_network_tests() + docker_home_tests() + docker_shared_objects_tests() +
           docker_cleanup_tests() + docker_events_tests() + docker_image_lookup_tests() +
           docker_image_build_tests();
}
