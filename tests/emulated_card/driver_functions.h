/* The functions of the CUDA driver, by the names that cuGetProcAddress knows them by (CUDA 13.0). */
#define DRIVER_FUNCTIONS \
    NAME(cuArray3DCreate) NAME(cuArray3DGetDescriptor) NAME(cuArrayCreate) NAME(cuArrayDestroy) \
    NAME(cuArrayGetDescriptor) NAME(cuArrayGetMemoryRequirements) NAME(cuArrayGetPlane) \
    NAME(cuArrayGetSparseProperties) NAME(cuCheckpointOperationComplete) NAME(cuCheckpointProcessCheckpoint) \
    NAME(cuCheckpointProcessGetRestoreThreadId) NAME(cuCheckpointProcessGetState) NAME(cuCheckpointProcessLock) \
    NAME(cuCheckpointProcessRestore) NAME(cuCheckpointProcessUnlock) NAME(cuCoredumpDeregisterCompleteCallback) \
    NAME(cuCoredumpDeregisterStartCallback) NAME(cuCoredumpGetAttribute) NAME(cuCoredumpGetAttributeGlobal) \
    NAME(cuCoredumpRegisterCompleteCallback) NAME(cuCoredumpRegisterStartCallback) NAME(cuCoredumpSetAttribute) \
    NAME(cuCoredumpSetAttributeGlobal) NAME(cuCtxAttach) NAME(cuCtxCreate) NAME(cuCtxCreate_v2) \
    NAME(cuCtxCreate_v3) NAME(cuCtxDestroy) NAME(cuCtxDetach) NAME(cuCtxDisablePeerAccess) \
    NAME(cuCtxEnablePeerAccess) NAME(cuCtxFromGreenCtx) NAME(cuCtxGetApiVersion) NAME(cuCtxGetCacheConfig) \
    NAME(cuCtxGetCurrent) NAME(cuCtxGetDevResource) NAME(cuCtxGetDevice) NAME(cuCtxGetDevice_v2) \
    NAME(cuCtxGetExecAffinity) NAME(cuCtxGetFlags) NAME(cuCtxGetId) NAME(cuCtxGetLimit) \
    NAME(cuCtxGetSharedMemConfig) NAME(cuCtxGetStreamPriorityRange) NAME(cuCtxPopCurrent) NAME(cuCtxPushCurrent) \
    NAME(cuCtxRecordEvent) NAME(cuCtxResetPersistingL2Cache) NAME(cuCtxSetCacheConfig) NAME(cuCtxSetCurrent) \
    NAME(cuCtxSetFlags) NAME(cuCtxSetLimit) NAME(cuCtxSetSharedMemConfig) NAME(cuCtxSynchronize) \
    NAME(cuCtxSynchronize_v2) NAME(cuCtxWaitEvent) NAME(cuDestroyExternalMemory) NAME(cuDestroyExternalSemaphore) \
    NAME(cuDevResourceGenerateDesc) NAME(cuDevSmResourceSplit) NAME(cuDevSmResourceSplitByCount) \
    NAME(cuDeviceCanAccessPeer) NAME(cuDeviceComputeCapability) NAME(cuDeviceGet) NAME(cuDeviceGetAttribute) \
    NAME(cuDeviceGetByPCIBusId) NAME(cuDeviceGetCliqueCount) NAME(cuDeviceGetCliqueInfo) NAME(cuDeviceGetCount) \
    NAME(cuDeviceGetDefaultMemPool) NAME(cuDeviceGetDevResource) NAME(cuDeviceGetExecAffinitySupport) \
    NAME(cuDeviceGetFabricClusterUuid) NAME(cuDeviceGetGraphMemAttribute) NAME(cuDeviceGetHostAtomicCapabilities) \
    NAME(cuDeviceGetLuid) NAME(cuDeviceGetMemPool) NAME(cuDeviceGetName) NAME(cuDeviceGetNvSciSyncAttributes) \
    NAME(cuDeviceGetP2PAtomicCapabilities) NAME(cuDeviceGetP2PAttribute) NAME(cuDeviceGetPCIBusId) \
    NAME(cuDeviceGetProperties) NAME(cuDeviceGetTexture1DLinearMaxWidth) NAME(cuDeviceGetUuid) \
    NAME(cuDeviceGraphMemTrim) NAME(cuDevicePrimaryCtxGetState) NAME(cuDevicePrimaryCtxRelease) \
    NAME(cuDevicePrimaryCtxReset) NAME(cuDevicePrimaryCtxRetain) NAME(cuDevicePrimaryCtxSetFlags) \
    NAME(cuDeviceRegisterAsyncNotification) NAME(cuDeviceSetGraphMemAttribute) NAME(cuDeviceSetMemPool) \
    NAME(cuDeviceTotalMem) NAME(cuDeviceUnregisterAsyncNotification) NAME(cuDriverGetVersion) \
    NAME(cuEGLStreamConsumerAcquireFrame) NAME(cuEGLStreamConsumerConnect) \
    NAME(cuEGLStreamConsumerConnectWithFlags) NAME(cuEGLStreamConsumerDisconnect) \
    NAME(cuEGLStreamConsumerReleaseFrame) NAME(cuEGLStreamProducerConnect) NAME(cuEGLStreamProducerDisconnect) \
    NAME(cuEGLStreamProducerPresentFrame) NAME(cuEGLStreamProducerReturnFrame) NAME(cuEventCreate) \
    NAME(cuEventCreateFromEGLSync) NAME(cuEventDestroy) NAME(cuEventElapsedTime) NAME(cuEventQuery) \
    NAME(cuEventRecord) NAME(cuEventRecordWithFlags) NAME(cuEventSynchronize) NAME(cuExternalMemoryGetMappedBuffer) \
    NAME(cuExternalMemoryGetMappedMipmappedArray) NAME(cuFabricCpyBatchAsync) NAME(cuFlushGPUDirectRDMAWrites) \
    NAME(cuFuncGetAttribute) NAME(cuFuncGetModule) NAME(cuFuncGetName) NAME(cuFuncGetParamCount) \
    NAME(cuFuncGetParamInfo) NAME(cuFuncIsLoaded) NAME(cuFuncLoad) NAME(cuFuncSetAttribute) \
    NAME(cuFuncSetBlockShape) NAME(cuFuncSetCacheConfig) NAME(cuFuncSetSharedMemConfig) NAME(cuFuncSetSharedSize) \
    NAME(cuGLCtxCreate) NAME(cuGLGetDevices) NAME(cuGLInit) NAME(cuGLMapBufferObject) \
    NAME(cuGLMapBufferObjectAsync) NAME(cuGLRegisterBufferObject) NAME(cuGLSetBufferObjectMapFlags) \
    NAME(cuGLUnmapBufferObject) NAME(cuGLUnmapBufferObjectAsync) NAME(cuGLUnregisterBufferObject) \
    NAME(cuGetErrorName) NAME(cuGetErrorString) NAME(cuGetExportTable) NAME(cuGetProcAddress) \
    NAME(cuGraphAddBatchMemOpNode) NAME(cuGraphAddChildGraphNode) NAME(cuGraphAddDependencies) \
    NAME(cuGraphAddEmptyNode) NAME(cuGraphAddEventRecordNode) NAME(cuGraphAddEventWaitNode) \
    NAME(cuGraphAddExternalSemaphoresSignalNode) NAME(cuGraphAddExternalSemaphoresWaitNode) \
    NAME(cuGraphAddHostNode) NAME(cuGraphAddKernelNode) NAME(cuGraphAddMemAllocNode) NAME(cuGraphAddMemFreeNode) \
    NAME(cuGraphAddMemcpyNode) NAME(cuGraphAddMemsetNode) NAME(cuGraphAddNode) NAME(cuGraphAddNode_v3) \
    NAME(cuGraphBatchMemOpNodeGetParams) NAME(cuGraphBatchMemOpNodeSetParams) NAME(cuGraphChildGraphNodeGetGraph) \
    NAME(cuGraphClone) NAME(cuGraphConditionalHandleCreate) NAME(cuGraphCreate) NAME(cuGraphDebugDotPrint) \
    NAME(cuGraphDestroy) NAME(cuGraphDestroyNode) NAME(cuGraphEventRecordNodeGetEvent) \
    NAME(cuGraphEventRecordNodeSetEvent) NAME(cuGraphEventWaitNodeGetEvent) NAME(cuGraphEventWaitNodeSetEvent) \
    NAME(cuGraphExecBatchMemOpNodeSetParams) NAME(cuGraphExecChildGraphNodeSetParams) NAME(cuGraphExecDestroy) \
    NAME(cuGraphExecEventRecordNodeSetEvent) NAME(cuGraphExecEventWaitNodeSetEvent) \
    NAME(cuGraphExecExternalSemaphoresSignalNodeSetParams) NAME(cuGraphExecExternalSemaphoresWaitNodeSetParams) \
    NAME(cuGraphExecGetFlags) NAME(cuGraphExecGetId) NAME(cuGraphExecHostNodeSetParams) \
    NAME(cuGraphExecKernelNodeSetParams) NAME(cuGraphExecMemcpyNodeSetParams) NAME(cuGraphExecMemsetNodeSetParams) \
    NAME(cuGraphExecNodeSetParams) NAME(cuGraphExecUpdate) NAME(cuGraphExternalSemaphoresSignalNodeGetParams) \
    NAME(cuGraphExternalSemaphoresSignalNodeSetParams) NAME(cuGraphExternalSemaphoresWaitNodeGetParams) \
    NAME(cuGraphExternalSemaphoresWaitNodeSetParams) NAME(cuGraphGetEdges) NAME(cuGraphGetId) NAME(cuGraphGetNodes) \
    NAME(cuGraphGetRootNodes) NAME(cuGraphHostNodeGetParams) NAME(cuGraphHostNodeSetParams) \
    NAME(cuGraphInstantiate) NAME(cuGraphInstantiateWithParams) NAME(cuGraphKernelNodeCopyAttributes) \
    NAME(cuGraphKernelNodeGetAttribute) NAME(cuGraphKernelNodeGetParams) NAME(cuGraphKernelNodeSetAttribute) \
    NAME(cuGraphKernelNodeSetParams) NAME(cuGraphLaunch) NAME(cuGraphMemAllocNodeGetParams) \
    NAME(cuGraphMemFreeNodeGetParams) NAME(cuGraphMemcpyNodeGetParams) NAME(cuGraphMemcpyNodeSetParams) \
    NAME(cuGraphMemsetNodeGetParams) NAME(cuGraphMemsetNodeSetParams) NAME(cuGraphNodeFindInClone) \
    NAME(cuGraphNodeGetContainingGraph) NAME(cuGraphNodeGetDependencies) NAME(cuGraphNodeGetDependentNodes) \
    NAME(cuGraphNodeGetEnabled) NAME(cuGraphNodeGetLocalId) NAME(cuGraphNodeGetParams) NAME(cuGraphNodeGetToolsId) \
    NAME(cuGraphNodeGetType) NAME(cuGraphNodeSetEnabled) NAME(cuGraphNodeSetParams) NAME(cuGraphNodeSetParams_v2) \
    NAME(cuGraphReleaseUserObject) NAME(cuGraphRemoveDependencies) NAME(cuGraphRetainUserObject) \
    NAME(cuGraphUpload) NAME(cuGraphicsEGLRegisterImage) NAME(cuGraphicsGLRegisterBuffer) \
    NAME(cuGraphicsGLRegisterImage) NAME(cuGraphicsMapResources) NAME(cuGraphicsResourceGetMappedEglFrame) \
    NAME(cuGraphicsResourceGetMappedMipmappedArray) NAME(cuGraphicsResourceGetMappedPointer) \
    NAME(cuGraphicsResourceSetMapFlags) NAME(cuGraphicsSubResourceGetMappedArray) NAME(cuGraphicsUnmapResources) \
    NAME(cuGraphicsUnregisterResource) NAME(cuGraphicsVDPAURegisterOutputSurface) \
    NAME(cuGraphicsVDPAURegisterVideoSurface) NAME(cuGreenCtxCreate) NAME(cuGreenCtxDestroy) \
    NAME(cuGreenCtxGetDevResource) NAME(cuGreenCtxGetId) NAME(cuGreenCtxRecordEvent) NAME(cuGreenCtxStreamCreate) \
    NAME(cuGreenCtxWaitEvent) NAME(cuImportExternalMemory) NAME(cuImportExternalSemaphore) NAME(cuInit) \
    NAME(cuIpcCloseMemHandle) NAME(cuIpcGetEventHandle) NAME(cuIpcGetMemHandle) NAME(cuIpcOpenEventHandle) \
    NAME(cuIpcOpenMemHandle) NAME(cuKernelGetAttribute) NAME(cuKernelGetFunction) NAME(cuKernelGetLibrary) \
    NAME(cuKernelGetName) NAME(cuKernelGetParamCount) NAME(cuKernelGetParamInfo) NAME(cuKernelSetAttribute) \
    NAME(cuKernelSetCacheConfig) NAME(cuLaunch) NAME(cuLaunchCooperativeKernel) \
    NAME(cuLaunchCooperativeKernelMultiDevice) NAME(cuLaunchGrid) NAME(cuLaunchGridAsync) NAME(cuLaunchHostFunc) \
    NAME(cuLaunchHostFunc_v2) NAME(cuLaunchKernel) NAME(cuLaunchKernelEx) NAME(cuLibraryEnumerateKernels) \
    NAME(cuLibraryGetGlobal) NAME(cuLibraryGetKernel) NAME(cuLibraryGetKernelCount) NAME(cuLibraryGetManaged) \
    NAME(cuLibraryGetModule) NAME(cuLibraryGetUnifiedFunction) NAME(cuLibraryLoadData) NAME(cuLibraryLoadFromFile) \
    NAME(cuLibraryUnload) NAME(cuLinkAddData) NAME(cuLinkAddFile) NAME(cuLinkComplete) NAME(cuLinkCreate) \
    NAME(cuLinkDestroy) NAME(cuLogicalEndpointAddDevice) NAME(cuLogicalEndpointBindAddr) \
    NAME(cuLogicalEndpointBindMem) NAME(cuLogicalEndpointCreate) NAME(cuLogicalEndpointDestroy) \
    NAME(cuLogicalEndpointExport) NAME(cuLogicalEndpointGetLimits) NAME(cuLogicalEndpointIdRelease) \
    NAME(cuLogicalEndpointIdReserve) NAME(cuLogicalEndpointImport) NAME(cuLogicalEndpointQuery) \
    NAME(cuLogicalEndpointUnbind) NAME(cuLogsCurrent) NAME(cuLogsDumpToFile) NAME(cuLogsDumpToMemory) \
    NAME(cuLogsRegisterCallback) NAME(cuLogsUnregisterCallback) NAME(cuMemAddressFree) NAME(cuMemAddressReserve) \
    NAME(cuMemAdvise) NAME(cuMemAlloc) NAME(cuMemAllocAsync) NAME(cuMemAllocFromPoolAsync) NAME(cuMemAllocHost) \
    NAME(cuMemAllocManaged) NAME(cuMemAllocPitch) NAME(cuMemBatchDecompressAsync) NAME(cuMemCreate) \
    NAME(cuMemDiscardAndPrefetchBatchAsync) NAME(cuMemDiscardBatchAsync) NAME(cuMemExportToShareableHandle) \
    NAME(cuMemFree) NAME(cuMemFreeAsync) NAME(cuMemFreeHost) NAME(cuMemGetAccess) NAME(cuMemGetAddressRange) \
    NAME(cuMemGetAllocationGranularity) NAME(cuMemGetAllocationPropertiesFromHandle) NAME(cuMemGetDefaultMemPool) \
    NAME(cuMemGetHandleForAddressRange) NAME(cuMemGetInfo) NAME(cuMemGetLocationInfo) NAME(cuMemGetMemPool) \
    NAME(cuMemHostAlloc) NAME(cuMemHostGetDevicePointer) NAME(cuMemHostGetFlags) NAME(cuMemHostRegister) \
    NAME(cuMemHostUnregister) NAME(cuMemImportFromShareableHandle) NAME(cuMemMap) NAME(cuMemMapArrayAsync) \
    NAME(cuMemPoolCreate) NAME(cuMemPoolDestroy) NAME(cuMemPoolExportPointer) \
    NAME(cuMemPoolExportToShareableHandle) NAME(cuMemPoolGetAccess) NAME(cuMemPoolGetAttribute) \
    NAME(cuMemPoolImportFromShareableHandle) NAME(cuMemPoolImportPointer) NAME(cuMemPoolSetAccess) \
    NAME(cuMemPoolSetAttribute) NAME(cuMemPoolTrimTo) NAME(cuMemPrefetchAsync) NAME(cuMemPrefetchBatchAsync) \
    NAME(cuMemRangeGetAttribute) NAME(cuMemRangeGetAttributes) NAME(cuMemRelease) NAME(cuMemRetainAllocationHandle) \
    NAME(cuMemSetAccess) NAME(cuMemSetMemPool) NAME(cuMemUnmap) NAME(cuMemcpy) NAME(cuMemcpy2D) \
    NAME(cuMemcpy2DAsync) NAME(cuMemcpy2DUnaligned) NAME(cuMemcpy3D) NAME(cuMemcpy3DAsync) \
    NAME(cuMemcpy3DBatchAsync) NAME(cuMemcpy3DPeer) NAME(cuMemcpy3DPeerAsync) NAME(cuMemcpy3DWithAttributesAsync) \
    NAME(cuMemcpyAsync) NAME(cuMemcpyAtoA) NAME(cuMemcpyAtoD) NAME(cuMemcpyAtoH) NAME(cuMemcpyAtoHAsync) \
    NAME(cuMemcpyBatchAsync) NAME(cuMemcpyDtoA) NAME(cuMemcpyDtoD) NAME(cuMemcpyDtoDAsync) NAME(cuMemcpyDtoH) \
    NAME(cuMemcpyDtoHAsync) NAME(cuMemcpyHtoA) NAME(cuMemcpyHtoAAsync) NAME(cuMemcpyHtoD) NAME(cuMemcpyHtoDAsync) \
    NAME(cuMemcpyPeer) NAME(cuMemcpyPeerAsync) NAME(cuMemcpyWithAttributesAsync) NAME(cuMemsetD16) \
    NAME(cuMemsetD16Async) NAME(cuMemsetD2D16) NAME(cuMemsetD2D16Async) NAME(cuMemsetD2D32) \
    NAME(cuMemsetD2D32Async) NAME(cuMemsetD2D8) NAME(cuMemsetD2D8Async) NAME(cuMemsetD32) NAME(cuMemsetD32Async) \
    NAME(cuMemsetD8) NAME(cuMemsetD8Async) NAME(cuMipmappedArrayCreate) NAME(cuMipmappedArrayDestroy) \
    NAME(cuMipmappedArrayGetLevel) NAME(cuMipmappedArrayGetMemoryRequirements) \
    NAME(cuMipmappedArrayGetSparseProperties) NAME(cuModuleEnumerateFunctions) NAME(cuModuleGetFunction) \
    NAME(cuModuleGetFunctionCount) NAME(cuModuleGetGlobal) NAME(cuModuleGetLoadingMode) NAME(cuModuleGetSurfRef) \
    NAME(cuModuleGetTexRef) NAME(cuModuleLoad) NAME(cuModuleLoadData) NAME(cuModuleLoadDataEx) \
    NAME(cuModuleLoadFatBinary) NAME(cuModuleUnload) NAME(cuMulticastAddDevice) NAME(cuMulticastBindAddr) \
    NAME(cuMulticastBindAddr_v2) NAME(cuMulticastBindMem) NAME(cuMulticastBindMem_v2) NAME(cuMulticastCreate) \
    NAME(cuMulticastGetGranularity) NAME(cuMulticastUnbind) NAME(cuOccupancyAvailableDynamicSMemPerBlock) \
    NAME(cuOccupancyMaxActiveBlocksPerMultiprocessor) NAME(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) \
    NAME(cuOccupancyMaxActiveClusters) NAME(cuOccupancyMaxPotentialBlockSize) \
    NAME(cuOccupancyMaxPotentialBlockSizeWithFlags) NAME(cuOccupancyMaxPotentialClusterSize) NAME(cuParamSetSize) \
    NAME(cuParamSetTexRef) NAME(cuParamSetf) NAME(cuParamSeti) NAME(cuParamSetv) NAME(cuPointerGetAttribute) \
    NAME(cuPointerGetAttributes) NAME(cuPointerSetAttribute) NAME(cuProfilerInitialize) NAME(cuProfilerStart) \
    NAME(cuProfilerStop) NAME(cuSignalExternalSemaphoresAsync) NAME(cuStreamAddCallback) \
    NAME(cuStreamAttachMemAsync) NAME(cuStreamBatchMemOp) NAME(cuStreamBeginCapture) \
    NAME(cuStreamBeginCaptureToCig) NAME(cuStreamBeginCaptureToGraph) NAME(cuStreamBeginRecaptureToGraph) \
    NAME(cuStreamCopyAttributes) NAME(cuStreamCreate) NAME(cuStreamCreateWithPriority) NAME(cuStreamDestroy) \
    NAME(cuStreamEndCapture) NAME(cuStreamEndCaptureToCig) NAME(cuStreamGetAttribute) NAME(cuStreamGetCaptureInfo) \
    NAME(cuStreamGetCaptureInfo_v2) NAME(cuStreamGetCtx) NAME(cuStreamGetCtx_v2) NAME(cuStreamGetDevResource) \
    NAME(cuStreamGetDevice) NAME(cuStreamGetFlags) NAME(cuStreamGetGreenCtx) NAME(cuStreamGetId) \
    NAME(cuStreamGetPriority) NAME(cuStreamIsCapturing) NAME(cuStreamQuery) NAME(cuStreamSetAttribute) \
    NAME(cuStreamSynchronize) NAME(cuStreamUpdateCaptureDependencies) NAME(cuStreamWaitEvent) \
    NAME(cuStreamWaitValue32) NAME(cuStreamWaitValue64) NAME(cuStreamWriteValue32) NAME(cuStreamWriteValue64) \
    NAME(cuSurfObjectCreate) NAME(cuSurfObjectDestroy) NAME(cuSurfObjectGetResourceDesc) NAME(cuSurfRefGetArray) \
    NAME(cuSurfRefSetArray) NAME(cuTensorMapEncodeIm2col) NAME(cuTensorMapEncodeIm2colWide) \
    NAME(cuTensorMapEncodeTiled) NAME(cuTensorMapReplaceAddress) NAME(cuTensorMapSetAllocationClass) \
    NAME(cuTexObjectCreate) NAME(cuTexObjectDestroy) NAME(cuTexObjectGetResourceDesc) \
    NAME(cuTexObjectGetResourceViewDesc) NAME(cuTexObjectGetTextureDesc) NAME(cuTexRefCreate) NAME(cuTexRefDestroy) \
    NAME(cuTexRefGetAddress) NAME(cuTexRefGetAddressMode) NAME(cuTexRefGetArray) NAME(cuTexRefGetBorderColor) \
    NAME(cuTexRefGetFilterMode) NAME(cuTexRefGetFlags) NAME(cuTexRefGetFormat) NAME(cuTexRefGetMaxAnisotropy) \
    NAME(cuTexRefGetMipmapFilterMode) NAME(cuTexRefGetMipmapLevelBias) NAME(cuTexRefGetMipmapLevelClamp) \
    NAME(cuTexRefGetMipmappedArray) NAME(cuTexRefSetAddress) NAME(cuTexRefSetAddress2D) \
    NAME(cuTexRefSetAddressMode) NAME(cuTexRefSetArray) NAME(cuTexRefSetBorderColor) NAME(cuTexRefSetFilterMode) \
    NAME(cuTexRefSetFlags) NAME(cuTexRefSetFormat) NAME(cuTexRefSetMaxAnisotropy) NAME(cuTexRefSetMipmapFilterMode) \
    NAME(cuTexRefSetMipmapLevelBias) NAME(cuTexRefSetMipmapLevelClamp) NAME(cuTexRefSetMipmappedArray) \
    NAME(cuThreadExchangeStreamCaptureMode) NAME(cuUserObjectCreate) NAME(cuUserObjectRelease) \
    NAME(cuUserObjectRetain) NAME(cuVDPAUCtxCreate) NAME(cuVDPAUGetDevice) NAME(cuWaitExternalSemaphoresAsync)
